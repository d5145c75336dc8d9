// Figures that an evaluation gives.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipes/task/task.h"

namespace kb {

struct Figure {
  std::string name;
  double value = 0;
  MetricKind kind = {};

  std::string text() const;  // "3.70 %" of a share, "0.1234" of anything else
  bool is_better_than(const Figure& other) const {
    return kind.higher_is_better ? value > other.value : value < other.value;
  }
};

struct Evaluation {
  double loss = 0;  // mean
  int64_t count = 0;
  std::vector<Figure> figures = {};  // of the task's metrics, in their order

  const Figure* goal() const { return figures.empty() ? nullptr : &figures.front(); }
  std::optional<double> value(const std::string& name) const;
};

// Returns an evaluation that was not made: its numbers are NaN.
Evaluation no_evaluation(const std::vector<NamedMetric>& metrics);

}  // namespace kb
