// Lengths of training in words: "500st" is 500 steps, "2.5ep" 2.5 epochs.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "recipes/config/plan.h"

namespace kb {

struct Duration {
  double count = 0;  // > 0
  bool is_epochs = false;

  int64_t steps(const RunPlan& plan) const;  // at least 1, rounded to the nearest
};

constexpr const char* kDurationExpectation = "steps or epochs such as 500st, 2.5ep";
// Throws UsageError where the text is no duration > 0, or steps are no whole number.
Duration parse_duration(const std::string& flag, const std::string& text);
// No duration where the text ends in neither unit.
std::optional<Duration> find_duration(const std::string& text);

// The point at which --stop-at ends a run before its schedule does.
struct StopAt {
  std::optional<Duration> duration;
  std::optional<double> error;  // fraction of the test set, found by an evaluation
};
// "" is no end. Throws UsageError.
StopAt parse_stop_at(const std::string& text);
// Steps after which the run ends at the latest.
int64_t last_step(const StopAt& stop, const RunPlan& plan);

}  // namespace kb
