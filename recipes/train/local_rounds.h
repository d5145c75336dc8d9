// Local training (--policy local): before the first step of a round every replica takes the joined parameters; after
// the last one the replicas are joined. Steps of replicas lie in StepRunner, the join in recipes/train/join.h.
#pragma once
#include "recipes/train/instrument.h"
#include "recipes/train/join.h"
#include "recipes/train/parts.h"
#include "recipes/train/step_feed.h"

namespace kb {

class LocalRounds : public Instrument {
 public:
  // Both must outlive this object.
  LocalRounds(LoopParts& parts, StepFeed& feed) : parts_(parts), feed_(feed) {}

  bool acts_before(int64_t step) const override { return parts_.plan.rounds.begins_with(step); }
  void before(int64_t step) override;

 private:
  LoopParts& parts_;
  StepFeed& feed_;
};

}  // namespace kb
