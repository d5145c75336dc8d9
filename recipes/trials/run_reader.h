// Reads what a run left in its folder: manifest.json and metrics.jsonl.
#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recipes/train/evaluation.h"
#include "runtime/flat_json.h"
#include "runtime/json_reader.h"

namespace kb {

// An evaluation in the course of a run. NaN stands for a number that is not there or not finite.
struct EvaluationPoint {
  int64_t step = 0;  // steps done
  double epoch = 0;  // epochs done
  double loss = 0, goal = 0, train_loss = 0;
};

// Figures of a state of a run at its end, on one part of the data.
struct StateFigures {
  std::string part;      // "test"
  bool is_best = false;  // the best state by the part that the run was judged on; else the final one
  int64_t step = 0;      // after which the state stood
  std::vector<std::pair<std::string, double>> values = {};  // by their names; finite ones alone
};

struct RunReport {
  std::filesystem::path folder;
  std::string recipe;
  std::string how;        // it ended: "finished", "target", "--stop-at", "diverged", "interrupted"; empty: it has not
  bool diverged = false;  // never true of a run that has not ended
  int64_t steps = 0;      // done
  int64_t seed = 0, minibatch = 0, steps_per_epoch = 0;
  std::optional<double> rate;  // learning rate behind the warmup, by its flags
  MetricKind goal_kind = {};
  std::string goal = "error";                                // name of the metric that the run is judged by
  double result = std::numeric_limits<double>::quiet_NaN();  // goal's value at the end
  double loss = std::numeric_limits<double>::quiet_NaN();    // likewise
  std::string result_part = "test";                          // that both are of
  std::vector<StateFigures> figures;                         // of a run that has ended: all that it found of its states
  std::map<std::string, MetricKind> metric_kinds;            // by names, as far as the manifest tells them
  std::optional<int64_t> target_step;                        // at which it reached --target
  double target_samples = 0;                                 // seen until then
  std::string part = "test";                                 // of the data, that evaluations in its course were made on
  double seconds = std::numeric_limits<double>::quiet_NaN();  // wall time of the process that ended it
  double train_seconds = 0;                                   // up to the last evaluation, without evaluations
  std::string data = {};                                      // name and fingerprint, "mnist 56e146cfa797d6cd"
  std::string build = {};                                     // commit and compiler of the program that trained it
  std::string device = {};                                    // in words, that it was trained on
  std::string state_sha256;                                   // of parameters and optimizer state at the end
  std::vector<EvaluationPoint> evaluations;

  bool is_done() const { return !how.empty() && how != "interrupted"; }
};

// Throws Error where the folder holds no manifest or one that cannot be read. Damaged lines of the metrics are passed
// over.
RunReport read_run(const std::filesystem::path& folder);

// Likewise, without what the metrics say: evaluations, times, the state's hash. Costs little.
RunReport read_manifest(const std::filesystem::path& folder);

// Returns the step that a line of metrics.jsonl tells; nothing where that is none that a run can have: it is damaged.
std::optional<int64_t> step_in(const FlatJson& line);

// Returns how many steps a run has done, by the last step in its metrics; 0 where there is none. Costs little: reads
// the end of the file alone.
int64_t steps_of_run(const std::filesystem::path& folder);

// Returns the share of its steps that a run has done; 0 where there is none.
double share_of_run(const std::filesystem::path& folder);

}  // namespace kb
