// Going on with a run: what its folder says, which flags may stand beside --resume, whether a checkpoint belongs to it,
// and the state up to the checkpoint in which its loop goes on.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/run/console.h"
#include "recipes/run/run_folder.h"
#include "recipes/train/parts.h"
#include "recipes/train/run_schedule.h"
#include "runtime/checkpoint.h"

namespace kb {

// The key of a checkpoint's fact: RunSchedule::ahead() of its run. A checkpoint without it has 0.
inline constexpr const char* kUpdatesAhead = "updates_ahead";

struct ResumedRun {
  RunFolder folder;
  RunConfig config;                        // flags of the run, with those given beside --resume
  std::string manifest;                    // text of the manifest before this process
  std::optional<Checkpoint> checkpoint;    // checkpoint to go on from; empty if the run was stopped before its first
  std::string ended;                       // reason why nothing is left to do; empty if something is
  int64_t begins_at = 0;                   // number of steps that were done when the run began
  std::optional<BranchPoint> branch = {};  // state that a branch without a checkpoint begins with
  std::vector<std::string> notes = {};     // lines for a person: checkpoints that were passed over, and why
};

// Returns whether there is a run to go on with: if --resume names one, or with --resume auto if --out holds one. Throws
// UsageError if flags do not go together.
bool goes_on(const RunConfig& config);
// Opens the folder that given.resume.run names; with --resume auto that of --out, which must hold the same run.
// `arguments`: words of the command line. Throws Error for a folder without a run of this recipe, for a flag that would
// change what is computed, and for a damaged checkpoint, with the name of the newest whole one. With --resume auto,
// when nobody may be there to choose, it goes on from that one and keeps damaged ones under another name. A checkpoint
// that the system does not let it read may be whole: it throws FileError, and renames none. Several processes may share
// the folder: one owns it, the others read.
ResumedRun open_resumed(const Recipe& recipe, const RunConfig& given, const std::vector<std::string>& arguments,
                        RunFolder::Use use = RunFolder::Use::own);

// Returns the path of the checkpoint that --checkpoint names: a path, or a file's name in the folder. If there is none,
// throws Error with the names of those there are.
std::filesystem::path named_checkpoint(const std::filesystem::path& folder, const std::string& name);

// Returns the facts that tell which run a checkpoint is of: recipe, flags that change what is computed, graph, data.
std::map<std::string, std::string> checkpoint_facts(const Recipe& recipe, const RunConfig& config,
                                                    const LoadedPrograms& programs, const DataFacts& data);
// True for a checkpoint of an earlier Kilobatch, which built other graphs from the same models.
bool has_earlier_graph(const Checkpoint& checkpoint);
// Throws Error with the differences if the checkpoint is of another run, graph or data. If has_earlier_graph(), the
// graph is not compared; load_checkpoint compares the tensors. Flags that the checkpoint's Kilobatch did not have count
// as given by their defaults.
void check_belongs(const Recipe& recipe, const Checkpoint& checkpoint, const std::map<std::string, std::string>& facts);
// Loads the state into the store. Throws Error, which names every tensor that is missing, not expected or of another
// type.
void load_checkpoint(StateStore& store, const Checkpoint& checkpoint);

// Throws Error, with a hint, if the steps of the checkpoint were taken with other rates than `now` has.
void check_schedule(const Checkpoint& checkpoint, const RunSchedule& now);

// Cuts the metrics file of a run to the steps before `step` (recipes/train/metrics_cut.h), prints what that took away,
// and returns the lines that are kept. `is_due`: whether the state at `step` is to be evaluated. `begins_at`: number of
// steps that were done when the run began.
std::string lines_before(const std::filesystem::path& metrics_file, int64_t step, bool is_due, int64_t begins_at,
                         Console& console);

// Collective call. Returns the lines of the leading process in every process.
PastLines leaders_lines(World& world, std::string own);

// Collective call. Returns the model after `step` steps from a checkpoint of the run; empty if no checkpoint has it, or
// if a process does not find it.
std::vector<NamedTensor> saved_model(World& world, const std::filesystem::path& checkpoints, int64_t step);

}  // namespace kb
