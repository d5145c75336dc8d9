// Decides when checkpoints of a training are made, and collects what they hold beside the state.
#pragma once
#include <optional>

#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

class Checkpoints {
 public:
  // Both must outlive this object.
  Checkpoints(const LoopParts& parts, const Instruments& instruments) : parts_(parts), instruments_(instruments) {}

  // Notes that a checkpoint of the state after `done` steps exists.
  void has(int64_t done) { last_ = cursor(done); }
  // Returns true if an evaluation is due after `done` steps, or if judging.save_every asks for a checkpoint there.
  bool is_due(int64_t done) const;
  // Saves the state after `done` steps, all of which have been reported. Does nothing if the last checkpoint is of this
  // state, unless the state has turned out to be the best (or no longer is) since then.
  void save(int64_t done);

 private:
  CheckpointCursor cursor(int64_t done) const;

  const LoopParts& parts_;
  const Instruments& instruments_;
  std::optional<CheckpointCursor> last_;  // cursor of the last checkpoint
};

}  // namespace kb
