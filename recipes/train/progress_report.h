// Tells the observer after every step how far the training has come, if the observer wants to know.
#pragma once
#include "recipes/train/best_keeper.h"
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

class ProgressReport : public Instrument {
 public:
  // Both must outlive this object.
  ProgressReport(const LoopParts& parts, const BestKeeper& best)
      : parts_(parts), best_(best), last_step_(last_step(parts.config.length.stop_at, parts.plan)) {}

  void stepped(const ReportedStep& reported) override;

 private:
  const LoopParts& parts_;
  const BestKeeper& best_;
  const int64_t last_step_;  // number of steps after which the training ends at the latest
};

}  // namespace kb
