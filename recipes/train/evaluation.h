// Figures that an evaluation gives.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recipes/task/task.h"

namespace kb {

// Parts of a data set that are evaluated, as metrics name them.
inline constexpr const char *kTestPart = "test", *kValidPart = "valid";
// Name of the loss among the figures.
inline constexpr const char* kLossName = "loss";

struct Figure {
  std::string name;
  double value = 0;
  MetricKind kind = {};

  std::string text() const;  // "3.70 %" of a share, "0.1234" of anything else
  bool is_better_than(const Figure& other) const {
    return kind.higher_is_better ? value > other.value : value < other.value;
  }
};

// Returns the figure of a metric whose values have this mean over the samples.
Figure figure_of(const NamedMetric& metric, double mean);

struct Evaluation {
  double loss = 0;  // mean over the samples
  int64_t count = 0;
  std::vector<Figure> figures = {};  // figures of the task's metrics, in their order

  const Figure* goal() const { return figures.empty() ? nullptr : &figures.front(); }
  std::optional<double> value(const std::string& name) const;
  std::optional<Figure> figure(const std::string& name) const;  // figure of a metric, or the loss
};

// Returns an evaluation that was not made: its numbers are NaN.
Evaluation no_evaluation(const std::vector<NamedMetric>& metrics);

// Sums over the training steps since the last evaluation, which reports their means beside its own figures.
struct StepSums {
  int64_t steps = 0;
  double loss = 0;
  std::vector<double> metrics = {};  // sum over steps of each training metric's mean; empty means zeros

  void add(double step_loss, std::span<const double> step_means);
  // `count`: samples of a step. Returns nothing where there was no step.
  std::optional<Evaluation> mean(const std::vector<NamedMetric>& names, int64_t count) const;
};

}  // namespace kb
