// Going on with a run: what its folder says, which flags may stand beside --resume, and whether a checkpoint belongs to
// it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/run/run_folder.h"
#include "recipes/train/run_schedule.h"
#include "runtime/checkpoint.h"

namespace kb {

struct ResumedRun {
  RunFolder folder;
  RunConfig config;                        // the run's own, and what was given beside --resume
  std::string manifest;                    // as it was
  std::optional<Checkpoint> checkpoint;    // none: the run was stopped before its first
  std::string ended;                       // says why nothing is left to do; empty: something is
  int64_t begins_at = 0;                   // steps that were done when the run began
  std::optional<BranchPoint> branch = {};  // state that a branch without a checkpoint begins with
  std::vector<std::string> notes = {};     // for a person: checkpoints that were passed over, and why
};

// Whether there is a run to go on with: as --resume says, or with --resume auto where --out holds one. Throws
// UsageError where flags do not go together.
bool goes_on(const RunConfig& config);
// Opens the folder that given.resume.run names; with --resume auto that of --out, where the run must be the same.
// `arguments` are the words of the command line. Throws Error for a folder without a run of this recipe, for a flag
// that would change what is computed, and for a checkpoint that is damaged, naming the newest that is whole. With
// --resume auto it goes on from that one, and damaged ones are kept under another name: nobody is there to choose. One
// that the system does not let it read may be whole: FileError, and all stay. Several processes may share the folder:
// one owns it, the others read.
ResumedRun open_resumed(const Recipe& recipe, const RunConfig& given, const std::vector<std::string>& arguments,
                        RunFolder::Use use = RunFolder::Use::own);

// The checkpoint that --checkpoint names: a path, or a file's name in the folder. Throws Error naming those there are.
std::filesystem::path named_checkpoint(const std::filesystem::path& folder, const std::string& name);
// Returns a hint for a newest checkpoint, files[0], that is damaged: it names the newest whole one, if there is one.
std::string whole_checkpoint_hint(const std::vector<std::filesystem::path>& files);

// Returns the facts that a checkpoint's run is known by: recipe, flags that change what is computed, graph, data.
std::map<std::string, std::string> checkpoint_facts(const Recipe& recipe, const RunConfig& config,
                                                    const LoadedPrograms& programs, const DataFacts& data);
// True for a checkpoint of an earlier Kilobatch, which built other graphs from the same models.
bool has_earlier_graph(const Checkpoint& checkpoint);
// Throws Error with the differences where the checkpoint is of another run, graph or data. The graph is not compared
// where the checkpoint has an earlier one; its tensors are, by load_checkpoint.
// Flags that the checkpoint's Kilobatch did not have count as given by their defaults.
void check_belongs(const Recipe& recipe, const Checkpoint& checkpoint, const std::map<std::string, std::string>& facts);
// Into the store. Throws Error naming every tensor that is missing, not expected or of another type.
void load_checkpoint(StateStore& store, const Checkpoint& checkpoint);

// Throws Error, with a hint, where the steps of the checkpoint were taken with other rates than `now` has.
void check_schedule(const Checkpoint& checkpoint, const RunSchedule& now);

}  // namespace kb
