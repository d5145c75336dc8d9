// The figure that a run has to reach, such as "error=0.03", "error=3%" or "loss=0.1".
#pragma once
#include <string>
#include <vector>

namespace kb {

// Prefix of the figures of the averaged parameters: "ema_loss".
inline constexpr const char* kAveragedPrefix = "ema_";

struct TargetFigure {
  std::string metric;  // name of a metric of the task, or "loss"; with kAveragedPrefix that of the averaged parameters
  double value = 0;    // a share of the samples is a fraction, such as 0.03

  // Returns whether the figure is strictly better, because Shallue et al. 2019 (arXiv 1811.03600, section 4.1) count
  // the steps to a result in this way.
  bool is_reached_by(double figure, bool higher_is_better) const {
    return higher_is_better ? figure > value : figure < value;
  }
  bool is_of_averages() const { return metric.starts_with(kAveragedPrefix); }
  // Returns the metric without kAveragedPrefix.
  std::string plain_metric() const;
  // Returns whether one of the shares 0 and 1 reaches the target and the other one misses it.
  bool divides_shares(bool higher_is_better) const {
    return is_reached_by(0, higher_is_better) != is_reached_by(1, higher_is_better);
  }
  // Returns what is wrong with a target of a share that no training or every one is better than; else "".
  std::string share_fault(bool higher_is_better) const;
  std::string text() const;  // "error=0.03"
  bool operator==(const TargetFigure&) const = default;
};

// Reads several values of one figure, such as "1.2,1.1,1" or "5%,3%", in their order. Throws UsageError, which names
// the flag, for other texts, for a value that stands there twice, and for more than kMostTargets values.
inline constexpr size_t kMostTargets = 10;
std::vector<double> parse_target_values(const std::string& flag, const std::string& text);

// Reads a target. Throws UsageError, which names the flag, for other texts.
TargetFigure parse_target(const std::string& flag, const std::string& text);

}  // namespace kb
