#include "recipes/train/step_feed.h"

#include <algorithm>
#include <utility>

#include "recipes/train/residency.h"

namespace kb {

void StepFeed::open(int64_t step) {
  Session& training = parts_.training();
  const Source& source = *parts_.task.train;
  for (Session* session : parts_.of_phase()) set_constants(*session, parts_);
  if (parts_.plan.ordered > 0) return;  // recipes/train/ordered_steps.h reads the samples of a gradient
  slots_.clear();
  for (int i = host_batches(training, source, parts_.loader_threads); i > 0; --i)
    slots_.emplace_back(parts_.of_phase(), parts_.task.fields);
  FieldFill fill = training_fill(parts_);
  if (source.is_constant()) {
    slots_.front().fill(fill, step * parts_.batch.virtual_workers);
    for (Session* session : parts_.of_step()) slots_.front().feed(*session);
    return;
  }
  fill_tables(training, parts_.task.fields, source, kTrainingPart);
  const int64_t workers = parts_.batch.virtual_workers;
  const bool is_last = parts_.phase + 1 == parts_.plan.phase_count();
  const int64_t phase_end = is_last ? parts_.plan.steps : parts_.plan.phase(parts_.phase + 1).begin_step;
  const bool is_before_rounds = parts_.plan.rounds.replicas > 0 && !parts_.uses_copies;
  const int64_t end = is_before_rounds ? std::min(phase_end, parts_.plan.rounds.first) : phase_end;
  const size_t of_bucket = parts_.of_step().size();
  loader_.emplace(
      [this, fill = std::move(fill), sessions = parts_.of_phase(), order = parts_.order, workers, of_bucket](
          int64_t batch, int slot) {
        HostBatch& memory = slots_[static_cast<size_t>(slot)];
        memory.fit(*sessions[order.bucket(batch / workers) * of_bucket]);
        memory.fill(fill, batch, {kTrainingPart, parts_.task.train.get()});
      },
      static_cast<int>(slots_.size()),
      LoaderOptions{step * workers, end * workers, parts_.loader_threads, training.depth()});
}

double StepFeed::next(Session& session) {
  if (!loader_) return 0;
  const LoadedBatch batch = loader_->next();
  slots_[static_cast<size_t>(batch.slot)].lend(session);
  return batch.wait_ms;
}

}  // namespace kb
