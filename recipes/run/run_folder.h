// The folder of one run, and the files in it: manifest.json, metrics.jsonl, model.safetensors, dumps.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "recipes/config/flags.h"
#include "recipes/config/plan.h"
#include "recipes/config/run_task.h"
#include "recipes/run/branch_point.h"
#include "recipes/train/train.h"
#include "runtime/folder_lock.h"
#include "runtime/state_store.h"

namespace kb {

inline constexpr const char *kManifest = "manifest.json", *kMetrics = "metrics.jsonl", *kModel = "model.safetensors",
                            *kCurves = "curves.svg", *kMetricsTable = "metrics.csv", *kOrder = "order.jsonl";

// Words of a manifest for how a run ended: it reached its --target, or its schedule is over.
inline constexpr const char* kTargetEnding = "target";
inline constexpr const char* kFinishedEnding = "finished";
inline constexpr const char* kInterruptedEnding = "interrupted";

// Returns runs/NAME-TIME, a folder that does not exist yet.
std::filesystem::path new_dated_folder(const std::string& name);

// Returns the folder of a run's checkpoints.
inline std::filesystem::path checkpoints_of(const std::filesystem::path& run) { return run / "checkpoints"; }

// Returns whether `file` is, or would be, one that the run writes itself: manifest, metrics, events, model or
// checkpoint. Links count as what they lead to.
bool is_own_file(const std::filesystem::path& run, const std::filesystem::path& file);

// Throws Error if `out` holds a run already.
void check_unused(const std::filesystem::path& out);

class RunFolder {
 public:
  // Makes the folder `out`. If that is empty, makes runs/RECIPE-TIME, with a number after it if another run took that
  // name. Throws Error if `out` holds a run already.
  RunFolder(const std::string& recipe, const std::string& out);
  // Opens a folder that exists. Use::own makes it this process's own while the object lives, as the other constructor
  // does, and throws Error if another process has it. Use::share only reads the folder, which another process of the
  // same run owns.
  enum class Use : uint8_t { own, share };
  static RunFolder open(const std::string& path, Use use = Use::own);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(const std::string& name) const { return path_ / name; }
  std::filesystem::path checkpoints() const { return checkpoints_of(path_); }

  // Removes temporary files of a process that was killed.
  void remove_leftovers() const;

  // Writes parameters and running statistics under PyTorch's names, whole or not at all.
  void save_parameters(const std::string& name, const StateStore& store, int64_t step) const;

 private:
  explicit RunFolder(std::filesystem::path path, Use use = Use::own);

  std::filesystem::path path_;
  std::shared_ptr<const FolderLock> lock_;
};

struct ManifestFacts {
  const Recipe& recipe;
  const RunConfig& config;  // flags that leave nothing open that bits depend on
  const Ready& ready;
  const DataFacts& data;
  std::string picks;                    // text of algorithm_choices_text(); may be empty
  const BranchPoint* branch = nullptr;  // state of another run that this one begins with, or null
  int64_t process_bytes = 0;            // bytes of host memory, forecast before the first step
};

// Returns the manifest: every flag, seed, graph hash and version, and the command that repeats the run.
std::string manifest_text(const ManifestFacts& facts);
// Returns the manifest of a run that goes on at `step`: its start and versions are those of `old`, and "resumed" has an
// entry for every time that it went on. Calls `note` with a line for each version that is another now: the bits may be
// others, too.
std::string resumed_manifest_text(const ManifestFacts& facts, const std::string& old, int64_t step,
                                  const std::function<void(const std::string&)>& note);
// Returns the manifest of a run that is over: "ended" says when, after how many steps and how; "result" holds its
// figures, the step, samples and epochs at which it reached its --target, and the figures of its best state, which was
// chosen on `judged_part`. `replaced`: names of the images that were replaced, with the reason. `peak_bytes`: most host
// memory that the process took.
std::string ended_manifest_text(const std::string& manifest, const LoopResult& result, const Evaluation& evaluation,
                                const std::string& judged_part, const std::vector<std::string>& replaced,
                                int64_t peak_bytes);
// Returns the manifest of a run that goes on, from two texts: `own` is this program's, `old` may come from anywhere.
std::string continued_manifest(const std::string& own, const std::string& old, int64_t step,
                               const std::function<void(const std::string&)>& note);

}  // namespace kb
