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
#include "recipes/train/fit.h"
#include "recipes/train/loop_result.h"
#include "recipes/train/programs.h"
#include "runtime/folder_lock.h"
#include "runtime/state_store.h"

namespace kb {

inline constexpr const char *kManifest = "manifest.json", *kMetrics = "metrics.jsonl", *kModel = "model.safetensors",
                            *kCurves = "curves.svg", *kMetricsTable = "metrics.csv";

// How a run ended that reached its --target, in its manifest.
inline constexpr const char* kTargetEnding = "target";
inline constexpr const char* kFinishedEnding = "finished";  // its schedule is over

// Returns the folder of a run's checkpoints.
inline std::filesystem::path checkpoints_of(const std::filesystem::path& run) { return run / "checkpoints"; }

// Whether it is, or would be, a file that the run writes itself: manifest, metrics, events, model or checkpoint. Links
// count as what they lead to.
bool is_own_file(const std::filesystem::path& run, const std::filesystem::path& file);

// Throws Error where `out` holds a run already.
void check_unused(const std::filesystem::path& out);

class RunFolder {
 public:
  // Makes `out`, or runs/RECIPE-TIME where it is empty (with a number behind it where another run took that name).
  // Throws Error where `out` holds a run already.
  RunFolder(const std::string& recipe, const std::string& out);
  // A folder that is there. As the other, it is this process's own as long as the object lives, and throws Error where
  // another process has it; a shared one is that of another process of the same run, to read.
  enum class Use : uint8_t { own, share };
  static RunFolder open(const std::string& path, Use use = Use::own);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(const std::string& name) const { return path_ / name; }
  std::filesystem::path checkpoints() const { return checkpoints_of(path_); }

  // Temporary files of a process that was killed.
  void remove_leftovers() const;

  // Parameters and running statistics under PyTorch's names, whole or not at all.
  void save_parameters(const std::string& name, const StateStore& store, int64_t step) const;

 private:
  explicit RunFolder(std::filesystem::path path, Use use = Use::own);

  std::filesystem::path path_;
  std::shared_ptr<const FolderLock> lock_;
};

struct ManifestFacts {
  const Recipe& recipe;
  const RunConfig& config;
  const RunPlan& plan;
  const Compiled &training, &inference;
  int64_t parameters = 0;  // elements
  const Task& task;
  const std::vector<NamedMetric>& metrics;  // of an evaluation; the first is the goal
  const DataFacts& data;
  std::string learning_rate;  // its derivation
  std::string device;
  std::string library;  // Backend::library()
  std::string picks;    // see algorithm_choices_text; may be empty
  Residency residency = {};
  std::optional<Fit> fit = {};
  const BranchPoint* branch = nullptr;  // that a run begins with; null: with initial values, or it goes on
  int64_t program_bytes = 0;            // of the device's memory, of all programs together
  int64_t process_bytes = 0;            // of the machine's memory, before the first step
  int64_t device_bytes = 0;             // that a device with memory of its own has; 0 on the CPU
};

// Every flag, seed, graph hash, version, and the command that repeats the run.
std::string manifest_text(const ManifestFacts& facts);
// Returns the manifest of a run that goes on at `step`: its start and versions are those of `old`, and "resumed" says
// when it was gone on with. Calls `note` with a line for each version that is another now: the bits may be others too.
std::string resumed_manifest_text(const ManifestFacts& facts, const std::string& old, int64_t step,
                                  const std::function<void(const std::string&)>& note);
// Returns the manifest of a run that is over: "ended" says when, after how many steps and how, "result" holds its
// figures, the step, samples and epochs at which it reached its --target, and the figures of its best state, which was
// chosen on `judged_part`. `replaced`: names of the images that were replaced, with the reason. `peak_bytes`: of the
// machine's memory, that the process took.
std::string ended_manifest_text(const std::string& manifest, const LoopResult& result, const Evaluation& evaluation,
                                const std::string& judged_part, const std::vector<std::string>& replaced,
                                int64_t peak_bytes);
// Returns the resumed manifest of two texts; `own` is this program's, `old` may come from anywhere.
std::string continued_manifest(const std::string& own, const std::string& old, int64_t step,
                               const std::function<void(const std::string&)>& note);

}  // namespace kb
