#include <fmt/format.h>

#include "recipes/train/gather_copies.h"
#include "recipes/train/instruments.h"
#include "recipes/train/join.h"

namespace kb {
namespace {

// Local training (--policy local): before the first step of a round every replica takes the joined parameters; after
// the last one the replicas are joined. Steps of replicas lie in StepRunner, the join in recipes/train/join.h.
class LocalRounds : public Instrument {
 public:
  // Both must outlive this object.
  LocalRounds(LoopParts& parts, StepFeed& feed) : parts_(parts), feed_(feed) {}

  bool acts_before(int64_t step) const override { return parts_.plan.rounds.begins_with(step); }

  // The first round begins with the whole state, and with other programs, which read the samples of a step by replicas.
  void before(int64_t step) override {
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

 private:
  LoopParts& parts_;
  StepFeed& feed_;
};

}  // namespace

std::unique_ptr<Instrument> make_local_rounds(LoopParts& parts, StepFeed& feed) {
  return std::make_unique<LocalRounds>(parts, feed);
}

}  // namespace kb
