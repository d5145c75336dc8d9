// Changes the shape of a step in the course of a training, as batch.growths asks: the steps after a growth are run by
// another compiled program, which has more virtual workers or longer sequences.
#pragma once
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"
#include "recipes/train/step_feed.h"

namespace kb {

class MinibatchGrowth : public Instrument {
 public:
  // Both must outlive this object.
  MinibatchGrowth(LoopParts& parts, StepFeed& feed) : parts_(parts), feed_(feed) {}

  bool acts_before(int64_t step) const override { return parts_.plan.phase_of(step) != parts_.phase; }
  void before(int64_t step) override;

 private:
  LoopParts& parts_;
  StepFeed& feed_;
};

}  // namespace kb
