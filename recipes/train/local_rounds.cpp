#include "recipes/train/local_rounds.h"

#include <fmt/format.h>

#include "recipes/train/gather_copies.h"

namespace kb {

// The first round begins with the whole state, and with other programs, which read the samples of a step by replicas.
void LocalRounds::before(int64_t step) {
  const bool is_first = step == parts_.plan.rounds.first;
  parts_.training().wait();
  for (StateStore* replica : parts_.copies.stores) {
    replica->take(parts_.store, is_first);
    if (!is_first && parts_.config.sync.slots == LocalSlots::zero) replica->zero_slots();
  }
  if (!is_first && parts_.config.sync.slots == LocalSlots::mean) average_slots(parts_);
  if (!is_first || step == parts_.start.step) return;
  feed_.close();
  set_phase(parts_, parts_.phase, step);
  feed_.open(step);
  parts_.observer.note(fmt::format("step {}: {} replicas of {} samples a step begin, joined every {} steps", step,
                                   parts_.plan.rounds.replicas, parts_.batch.global / parts_.plan.rounds.replicas,
                                   parts_.plan.rounds.every));
}

}  // namespace kb
