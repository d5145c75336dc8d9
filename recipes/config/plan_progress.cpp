// How far steps take a run: the members of RunPlan and of its phases that count epochs, steps and samples.
#include <algorithm>
#include <cmath>

#include "recipes/config/plan.h"

namespace kb {

MinibatchPhase RunPlan::phase(size_t number) const {
  if (number > 0) return grown.at(number - 1);
  return {.minibatch = minibatch, .steps_per_epoch = steps_per_epoch, .pieces = pieces};
}

size_t RunPlan::phase_of(int64_t step) const {
  size_t number = 0;
  while (number < grown.size() && grown[number].begin_step <= step) ++number;
  return number;
}

size_t RunPlan::judging_phase(size_t number) const {
  size_t first = number;
  while (first > 0 && phase(first - 1).pieces == phase(number).pieces) --first;
  return first;
}

double MinibatchPhase::epochs(int64_t done) const {
  const int64_t own = done - begin_step, whole = own - rest_steps;
  if (whole < 0)
    return static_cast<double>(begin_epoch) + static_cast<double>(begin_sample + own * minibatch) /
                                                  static_cast<double>(begin_sample + rest_steps * minibatch);
  return static_cast<double>(begin_epoch + (rest_steps > 0 ? 1 : 0)) +
         static_cast<double>(whole) / static_cast<double>(steps_per_epoch);
}

double MinibatchPhase::steps_in(double epochs) const {
  const double share = epochs - static_cast<double>(begin_epoch);
  if (rest_steps == 0) return share * static_cast<double>(steps_per_epoch);
  if (share >= 1) return static_cast<double>(rest_steps) + (share - 1) * static_cast<double>(steps_per_epoch);
  const auto begin = static_cast<double>(begin_sample),
             end = static_cast<double>(begin_sample + rest_steps * minibatch);
  return (share * end - begin) / static_cast<double>(minibatch);
}

double RunPlan::epochs(int64_t done) const { return phase(phase_of(done)).epochs(done); }

int64_t RunPlan::steps_in(double epochs) const {
  size_t number = grown.size();
  while (number > 0 && phase(number).epochs(phase(number).begin_step) > epochs) --number;
  const MinibatchPhase now = phase(number);
  const int64_t steps = now.begin_step + std::llround(now.steps_in(epochs));
  return number < grown.size() ? std::min(steps, grown[number].begin_step) : steps;
}

int64_t RunPlan::steps_in(const Period& duration) const {
  return duration.unit == Period::Unit::epochs ? steps_in(duration.count) : duration.steps(1);
}

int64_t RunPlan::samples_in(int64_t done) const {
  int64_t count = 0;
  for (size_t number = 0; number < phase_count(); ++number) {
    const MinibatchPhase now = phase(number);
    const int64_t end = number + 1 < phase_count() ? std::min(done, phase(number + 1).begin_step) : done;
    count += std::max<int64_t>(end - now.begin_step, 0) * now.minibatch;
  }
  return count;
}

int64_t RunPlan::epoch_begin(int64_t done) const {
  const MinibatchPhase now = phase(phase_of(done));
  const int64_t whole = done - now.begin_step - now.rest_steps;
  return whole < 0 ? epoch_begin(now.begin_step - 1) : done - whole % now.steps_per_epoch;
}

bool RunPlan::ends_epoch(int64_t done) const { return done > 0 && epoch_begin(done) == done; }

}  // namespace kb
