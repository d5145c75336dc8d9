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

#include "recipes/config/target_figure.h"
#include "recipes/train/evaluation.h"
#include "recipes/trials/policy_flags.h"
#include "runtime/flat_json.h"
#include "runtime/json_reader.h"

namespace kb {

// An evaluation in the course of a run. A number that is missing or not finite is NaN.
struct EvaluationPoint {
  int64_t step = 0;                           // steps done
  double epoch = 0;                           // epochs done
  double loss = 0, goal = 0, train_loss = 0;  // train_loss: mean since the last evaluation
  // Other figures by their names, such as "top5", or "ema_loss" of the averaged parameters.
  std::map<std::string, double> others = {};
  double noise_scale = std::numeric_limits<double>::quiet_NaN();  // gradient noise scale, in samples (--noise-scale)
};

// Figures of one state of a run, found at the run's end on one part of the data.
struct StateFigures {
  std::string part;      // name of the part, such as "test"
  bool is_best = false;  // true for the best state by the part that judges the run; false for the final state
  int64_t step = 0;      // number of steps after which the run had this state
  std::vector<std::pair<std::string, double>> values = {};  // figures by their names; finite ones only
};

// A report on a run, from its manifest and its metrics.
struct RunReport {
  std::filesystem::path folder;
  std::string recipe;
  // `how`: how the run ended: "finished", "target", "--stop-at", "diverged" or "interrupted"; empty while it has not.
  std::string how;
  bool diverged = false;  // true if the run has ended because it diverged
  int64_t steps = 0;      // number of steps done when the run ended
  int64_t seed = 0, minibatch = 0, steps_per_epoch = 0;
  std::optional<double> rate;           // learning rate after the warmup, from the run's flags
  std::optional<std::string> target;    // text of --target, "" without one; nothing: the manifest does not tell it
  std::optional<int64_t> context = {};  // tokens of a sample (--context), if its samples hold tokens
  MetricKind goal_kind = {};
  std::string goal = "error";                                // name of the metric that judges the run
  double result = std::numeric_limits<double>::quiet_NaN();  // value of the goal at the end
  double loss = std::numeric_limits<double>::quiet_NaN();    // loss at the end
  std::string result_part = "test";                          // part of the data on which both were measured
  std::vector<StateFigures> figures;                         // figures of the states of a run that has ended
  std::map<std::string, MetricKind> metric_kinds;            // kinds of metrics by name, as far as the manifest tells
  std::optional<int64_t> target_step;                        // number of steps after which it reached --target
  double target_samples = 0;                                 // number of samples seen until then
  std::string part = "test";  // part of the data on which evaluations during the run are made
  double seconds = std::numeric_limits<double>::quiet_NaN();  // wall time in seconds of the process that ended it
  double train_seconds = 0;  // seconds of training up to the last evaluation, without evaluations
  std::string data = {};     // name and fingerprint of the data, "mnist 56e146cfa797d6cd"
  std::string build = {};    // commit and compiler of the program that trained it
  std::string device = {};   // description of the device that trained it
  PolicyFlags policy = {};   // how its workers were kept alike
  int64_t parameters = 0;    // numbers that it trained; 0: unknown
  std::string state_sha256;  // hash of parameters and optimizer state at the end
  // Virtual time in seconds at the end of each step, NaN where the metrics lack it; empty without an order of
  // gradients.
  std::vector<double> clocks = {};
  std::vector<EvaluationPoint> evaluations;

  bool is_done() const { return !how.empty() && how != "interrupted"; }
};

// Reads manifest and metrics. Throws Error if the folder holds no manifest or an unreadable one. Damaged lines of the
// metrics are skipped.
RunReport read_run(const std::filesystem::path& folder);

// Reads a run in the same way; returns nothing where it throws.
std::optional<RunReport> find_run(const std::filesystem::path& folder);

// Reads the manifest only, which is cheap: the report has no evaluations, no times and no hash of the state.
RunReport read_manifest(const std::filesystem::path& folder);

// Returns the step in a line of metrics.jsonl; nothing if the line has no step that a run can have, since it is
// damaged.
std::optional<int64_t> step_in(const FlatJson& line);

// Returns how many steps a run has done, by the last step in its metrics; 0 if there is none. Reads only the end of the
// file.
int64_t steps_of_run(const std::filesystem::path& folder);

// Returns the share of its planned steps that a run has done, in [0, 1]; 0 if the folder holds no run.
double share_of_run(const std::filesystem::path& folder);

// Returns the figure of a metric at an evaluation; NaN if the run's metrics lack it.
double figure_at(const RunReport& run, const EvaluationPoint& point, const std::string& metric);

// Returns the kind of a target's metric; nothing if the run has no such metric.
std::optional<MetricKind> kind_of_target(const RunReport& run, const TargetFigure& target);

// Returns the number of steps after which an evaluation first reached a target, be it the run's own or another;
// nothing if none did. An evaluation before the first step does not count.
std::optional<int64_t> step_reaching(const RunReport& run, const TargetFigure& target);

// The last evaluation before the target was reached, and the one that reached it: steps and figures.
struct TargetBracket {
  double steps_before = 0, steps_at = 0;
  double figure_before = 0, figure_at = 0;
};
// Returns the bracket of a run that has reached its target; nothing if no evaluation after a step precedes it, if the
// metrics lack the target's figure, or if the figure before is better than the target.
std::optional<TargetBracket> target_bracket(const RunReport& run, const TargetFigure& target);

// Returns the number of steps, a real number, at which the figure equals the target: inside the bracket the logarithm
// of the steps is taken as linear in the figure. The first evaluation that reaches the target comes later than the
// crossing, by 5 % on average if evaluations are made after 1.1^k steps. If figures scatter by as much as they fall
// from one evaluation to the next, the first crossing is early. Returns target_step if there is no bracket.
double target_crossing(const RunReport& run, const TargetFigure& target);

}  // namespace kb
