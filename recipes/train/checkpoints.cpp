#include "recipes/train/checkpoints.h"

#include <utility>

#include "recipes/train/gather_copies.h"

namespace kb {

bool Checkpoints::is_due(int64_t done) const {
  return evaluation_is_due(parts_.config.judging.eval_every, parts_.plan, parts_.schedule, done) ||
         kb::is_due(parts_.config.judging.save_every, parts_.plan, done);
}

CheckpointCursor Checkpoints::cursor(int64_t done) const {
  CheckpointCursor cursor{.step = done, .samples = parts_.plan.samples_in(done), .schedule_sha256 = ""};
  for (const auto& instrument : instruments_) instrument->state(cursor);
  return cursor;
}

void Checkpoints::save(int64_t done) {
  CheckpointCursor next = cursor(done);
  if (last_ && last_->step == done && last_->is_best == next.is_best) return;
  parts_.world.at("checkpoint");
  gather_copies(parts_);
  parts_.observer.save_checkpoint(next);
  last_ = std::move(next);
}

}  // namespace kb
