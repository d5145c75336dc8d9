// Minibatches on their way into the training program of the phase under way: a loader fills them ahead.
#pragma once
#include <optional>
#include <vector>

#include "data/loader.h"
#include "recipes/train/feed.h"
#include "recipes/train/parts.h"

namespace kb {

class StepFeed {
 public:
  // `parts` must outlive it. There is no minibatch before open().
  explicit StepFeed(const LoopParts& parts) : parts_(parts) {}

  // Sets the constants of the phase's program, and begins with the minibatch of step `step`.
  void open(int64_t step);
  void close() { loader_.reset(); }

  // Gives the program the part of the next virtual worker. Returns the milliseconds that it had to wait for the data.
  double next();

 private:
  const LoopParts& parts_;
  std::vector<HostBatch> slots_;
  std::optional<Loader> loader_;  // none: one minibatch for all steps
};

}  // namespace kb
