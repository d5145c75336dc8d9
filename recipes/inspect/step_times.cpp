#include "recipes/inspect/step_times.h"

#include <algorithm>
#include <chrono>

namespace kb {
namespace {

constexpr int kWarmSteps = 3;
constexpr int64_t kGroup = 10;  // number of steps per group, as in tests/peers/torch_steps.py
constexpr int64_t kLeastTimes = 10, kMostSteps = 2000;
constexpr double kSeconds = 3;

// Takes a group's steps. On a device each one is waited for while the next one runs, as a trainer does; the last, at
// once.
void run_group(Session& session, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) {
    session.step();
    session.read_scalar("loss", session.lag());
  }
  if (session.lag() > 0) session.wait();
}

}  // namespace

StepTimes time_steps(Session& session, int64_t steps) {
  for (int i = 0; i < kWarmSteps; ++i) session.step();
  session.wait();
  StepTimes times;
  times.group = session.lag() > 0 ? kGroup : 1;
  double total = 0;
  const auto more = [&] {
    if (steps > 0) return times.steps < steps;
    return static_cast<int64_t>(times.ms.size()) < kLeastTimes || (total < 1e3 * kSeconds && times.steps < kMostSteps);
  };
  while (more()) {
    const int64_t group = steps > 0 ? std::min(times.group, steps - times.steps) : times.group;
    const auto start = std::chrono::steady_clock::now();
    run_group(session, group);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    times.ms.push_back(ms / static_cast<double>(group));
    times.steps += group;
    total += ms;
  }
  std::sort(times.ms.begin(), times.ms.end());
  return times;
}

}  // namespace kb
