#include "recipes/train/finite_check.h"

#include "recipes/perf/memory_answer.h"

namespace kb {

FiniteCheck::FiniteCheck(const LoopParts& parts, Backend& backend, CheckProgram program)
    : parts_(parts),
      probes_(std::move(program.probes)),
      session_(backend, parts.store, std::move(program.compiled)),
      slot_(session_, parts.task.fields) {
  set_constants(session_, parts);
  FieldFill fill = training_fill(parts);
  if (parts.task.train->is_constant())
    slot_.fill(fill, parts.order.first_step() * parts.batch.virtual_workers);
  else
    fill_ = std::move(fill);
}

int64_t FiniteCheck::bytes() const {
  const MemoryAnswer answer = memory_answer(session_.compiled());
  return answer.own() + answer.arena;
}

std::string FiniteCheck::run(int64_t step) {
  std::vector<double> found(probes_.values.size());
  RunSchedule schedule = parts_.schedule;  // a copy, because at() writes to the schedule's buffers
  set_scalars(session_, schedule, schedule.update_of(step));
  for (int64_t worker = 0; worker < parts_.batch.virtual_workers; ++worker) {
    if (fill_)
      slot_.fill(fill_, step * parts_.batch.virtual_workers + worker, {kTrainingPart, parts_.task.train.get()});
    slot_.lend(session_);
    session_.set_scalar("worker", static_cast<double>(first_worker(parts_) + worker));
    session_.step();
    for (size_t i = 0; i < found.size(); ++i) found[i] = session_.read_scalar(probe_name(i));
    const std::string origin = origin_of_not_finite(probes_, found);
    if (!origin.empty()) return origin;
  }
  return "";
}

}  // namespace kb
