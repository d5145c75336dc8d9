#include "recipes/train/schedule_log.h"

namespace kb {

// Returns the gain of the last of `done` steps; nothing without AdaScale, or if `done` is 0.
std::optional<double> ScheduleLog::gain_before(int64_t done) const {
  if (done == 0) return std::nullopt;
  const std::optional<ScaledStep> scaled = schedule_.scaled(done - 1);
  return scaled ? std::optional(scaled->gain) : std::nullopt;
}

void ScheduleLog::state(CheckpointCursor& cursor) {
  cursor.schedule_sha256 = hash_.up_to(schedule_.position(cursor.step));
  cursor.schedule_state = schedule_.state();
}

void ScheduleLog::tell(LoopResult& result) const {
  if (result.ending == Ending::diverged) return;
  result.schedule_state = schedule_.state();
  if (const std::optional<ScaledStep> next = schedule_.scaled(result.steps)) result.iterations = next->iterations;
}

std::string ScheduleHash::up_to(int64_t step) {
  for (; next_ < step; ++next_)
    for (const NamedScalar& scalar : scalars_.at(next_)) {
      hash_.update_field(scalar.name);
      hash_.update(&scalar.value, sizeof scalar.value);
    }
  return hash_.hex();
}

}  // namespace kb
