// Checkpoints of a training: when they are made, and what is in them beside the state.
#pragma once
#include <optional>

#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

class Checkpoints {
 public:
  // Both must outlive it.
  Checkpoints(const LoopParts& parts, const Instruments& instruments) : parts_(parts), instruments_(instruments) {}

  // Takes note that there is a checkpoint of the state after `done` steps.
  void has(int64_t done) { last_ = cursor(done); }
  // Returns true at every evaluation that is due, and as judging.save_every asks.
  bool is_due(int64_t done) const;
  // Saves the state after `done` steps, all of them reported, unless it is there; once more where it was not known as
  // the best one.
  void save(int64_t done);

 private:
  CheckpointCursor cursor(int64_t done) const;

  const LoopParts& parts_;
  const Instruments& instruments_;
  std::optional<CheckpointCursor> last_;
};

}  // namespace kb
