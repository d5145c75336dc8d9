// Feeds the training program of the current phase with minibatches, which a loader fills ahead of the steps.
#pragma once
#include <optional>
#include <vector>

#include "data/loader.h"
#include "recipes/train/feed.h"
#include "recipes/train/parts.h"

namespace kb {

class StepFeed {
 public:
  // `parts` must outlive this object. next() may be called after open() only.
  explicit StepFeed(const LoopParts& parts) : parts_(parts) {}

  // Sets the constants of the current phase's program, and starts loading with the minibatch of step `step`.
  void open(int64_t step);
  void close() { loader_.reset(); }

  // Gives `session` the samples of this process's next virtual worker. Returns the milliseconds of the wait for them.
  double next(Session& session);

 private:
  const LoopParts& parts_;
  std::vector<HostBatch> slots_;
  std::optional<Loader> loader_;  // empty for a constant source, whose one minibatch serves all steps
};

}  // namespace kb
