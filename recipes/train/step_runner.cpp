#include "recipes/train/step_runner.h"

#include <utility>

namespace kb {

std::optional<TakenStep> StepRunner::take(int64_t step) {
  using Clock = std::chrono::steady_clock;
  TakenStep taken{step, Clock::now(), 0, 0, &parts_.training(), parts_.batch.global};
  parts_.world.at_step(step);
  set_scalars(parts_.training(), parts_.schedule, step);
  for (int64_t worker = 0; worker < parts_.batch.virtual_workers; ++worker) {
    parts_.world.at_worker(worker);
    // Only the last virtual worker's part writes state, after all processes have agreed in World::begin() to finish the
    // step. A step that is abandoned here has therefore changed no state.
    const bool is_last = worker + 1 == parts_.batch.virtual_workers;
    if (is_last ? !parts_.world.begin() : parts_.world.is_over()) return std::nullopt;
    taken.wait_ms += feed_.next();
    parts_.training().set_scalar("worker", static_cast<double>(first_worker(parts_) + worker));
    work(step, worker);
  }
  taken.host_seconds = std::chrono::duration<double>(Clock::now() - taken.begun).count() - taken.wait_ms / 1e3;
  return taken;
}

// Runs one virtual worker's part of a step. If the observer wants a profile, the last worker's part is run by
// profile(), which computes the same bits and measures times.
void StepRunner::work(int64_t step, int64_t worker) {
  const bool is_last = worker + 1 == parts_.batch.virtual_workers;
  if (!is_last || !parts_.observer.wants_profile(step)) return parts_.training().work(worker);
  parts_.observer.profile_begins(step);
  profile_ = parts_.training().profile();
  profiled_ = step;
}

void StepRunner::show_profile() {
  if (profile_) parts_.observer.profiled(profiled_, parts_.training(), *std::exchange(profile_, std::nullopt));
}

}  // namespace kb
