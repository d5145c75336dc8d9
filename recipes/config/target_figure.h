// The figure that a run is to reach: "error=0.03", "error=3%", "loss=0.1".
#pragma once
#include <string>

namespace kb {

struct TargetFigure {
  std::string metric;  // of the task, or "loss"
  double value = 0;    // a share of the samples as a share: 0.03

  // Strictly better, as the steps to a result are counted in Shallue et al. 2019 (arXiv 1811.03600, section 4.1).
  bool is_reached_by(double figure, bool higher_is_better) const {
    return higher_is_better ? figure > value : figure < value;
  }
  // Whether any share of the samples reaches it.
  bool can_be_reached(bool higher_is_better) const { return is_reached_by(higher_is_better ? 1 : 0, higher_is_better); }
  std::string text() const;  // "error=0.03"
  bool operator==(const TargetFigure&) const = default;
};

// Throws UsageError, which names the flag.
TargetFigure parse_target(const std::string& flag, const std::string& text);

}  // namespace kb
