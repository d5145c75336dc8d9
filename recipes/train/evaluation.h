// The figures of an evaluation, and means of training steps in the same form.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recipes/config/target_figure.h"
#include "recipes/task/task.h"

namespace kb {

// Names of the parts of a data set that are evaluated, as they stand in metrics.jsonl.
inline constexpr const char *kTestPart = "test", *kValidPart = "valid";
// Name under which the loss is one of an evaluation's figures.
inline constexpr const char* kLossName = "loss";

struct Figure {
  std::string name;
  double value = 0;
  MetricKind kind = {};

  std::string text() const;  // "3.70 %" for a share, "0.1234" for any other figure
  bool is_better_than(const Figure& other) const {
    return kind.higher_is_better ? value > other.value : value < other.value;
  }
};

// Returns the figure of a metric from the mean of its values over the samples.
Figure figure_of(const NamedMetric& metric, double mean);

struct Evaluation {
  double loss = 0;                   // mean over the samples
  int64_t count = 0;                 // number of samples
  std::vector<Figure> figures = {};  // figures of the task's metrics, in their order; the first is the goal

  const Figure* goal() const { return figures.empty() ? nullptr : &figures.front(); }
  std::optional<double> value(const std::string& name) const;
  std::optional<Figure> figure(const std::string& name) const;  // a metric's figure, or the loss
};

// Returns whether the evaluation of the parameters, or that of the averaged ones where the target names it, is better
// than the target.
bool reaches(const TargetFigure& target, const Evaluation& evaluation, const std::optional<Evaluation>& averaged);

// Images that a model drew in an evaluation (recipes/task/metric.h: Drawing).
struct DrawnImages {
  std::string name;
  Dims shape;                  // C, H, W
  std::vector<double> values;  // pixels in [0, 1], one image after another
};

// Returns a stand-in for an evaluation that was not made: its figures are NaN and its count is 0.
Evaluation no_evaluation(const std::vector<NamedMetric>& metrics);

// Sums over training steps, such as all steps since the last evaluation or those of an epoch, whose means are reported.
struct StepSums {
  int64_t steps = 0;
  double loss = 0;
  std::vector<double> metrics = {};  // sum over the steps of each training metric's mean; empty before a step

  void add(double step_loss, std::span<const double> step_means);
  // Returns the means over the steps, of `count` samples each; nothing if there was no step.
  std::optional<Evaluation> mean(const std::vector<NamedMetric>& names, int64_t count) const;
};

// How far a run has come, as it is told after each step.
struct Progress {
  int64_t step = 0, steps = 0;                // steps done, and of the whole run
  double epoch = 0, epochs = 0;               // epochs done, and of the whole run
  double loss = 0;                            // loss of the last step
  double learning_rate = 0;                   // learning rate of the last step
  std::optional<Figure> best = std::nullopt;  // best goal of the evaluations so far
  double samples_per_second = 0;              // mean since the program's start, without evaluations
  double seconds_left = 0;                    // seconds of training that are left at that speed
  double data_wait_ms = 0;                    // milliseconds that the last step waited for its minibatch
};

}  // namespace kb
