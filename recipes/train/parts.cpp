#include "recipes/train/parts.h"

#include <cstring>

#include "compiler/passes/loss_scale.h"

namespace kb {
namespace {

constexpr double kGoodStepsToDouble = 2000;  // finite steps after which f16's loss scale doubles, as in PyTorch

}  // namespace

bool evaluation_is_due(const Period& eval_every, const RunPlan& plan, const RunSchedule& schedule, int64_t done) {
  return schedule.is_over(done) || is_due(eval_every, plan, done);
}

void set_phase(LoopParts& parts, size_t phase, int64_t step) {
  parts.uses_copies = parts.plan.rounds.has(step) || parts.plan.ordered > 0;
  parts.phase = phase;
  std::vector<int64_t> minibatches;
  for (size_t bucket = 0; bucket < parts.settled.buckets.size(); ++bucket)
    minibatches.push_back(parts.settled.batch_of(0, bucket).global);
  parts.order = order_in_phase(parts.plan, phase, order_seed(parts.config.arithmetic),
                               in_buckets(*parts.task.train, parts.settled.buckets, minibatches));
  if (parts.uses_copies)
    parts.order =
        parts.order.shared_by(parts.plan.ordered > 0 ? parts.settled.batch.workers() : parts.plan.rounds.replicas);
  set_step(parts, step);
}

void set_step(LoopParts& parts, int64_t step) {
  parts.bucket = parts.order.bucket(step);
  parts.batch = parts.settled.batch_of(parts.phase, parts.bucket);
}

Order evaluation_order(const Settled& settled, const Source& part) {
  std::vector<int64_t> rows;
  for (const Bucket& bucket : settled.buckets) rows.push_back(bucket.per_worker);
  return Order::evaluation(in_buckets(part, settled.buckets, rows));
}

FieldFill training_fill(const LoopParts& parts) {
  return gather_workers(*parts.task.train, parts.order,
                        {first_worker(parts), parts.batch.virtual_workers, parts.batch.workers()});
}

int64_t first_worker(const LoopParts& parts) { return parts.world.rank() * parts.batch.virtual_workers; }

void set_constants(Session& session, const LoopParts& parts) {
  session.set_scalar(kLabelSmoothing, parts.config.learning.label_smoothing);
  session.set_scalar("worker_share", 1.0 / static_cast<double>(session.compiled().workers.total()));
  session.set_scalar(kLossScaleInterval, kGoodStepsToDouble);
  for (const NamedScalar& scalar : parts.schedule.scalars().constants()) session.set_scalar(scalar.name, scalar.value);
  session.set_scalar("seed", static_cast<double>(parts.config.arithmetic.seed));
}

void set_scalars(Session& session, RunSchedule& schedule, const Update& update) {
  for (const NamedScalar& scalar : schedule.at(update)) session.set_scalar(scalar.name, scalar.value);
  session.set_scalar("step", static_cast<double>(update.step));
}

const Source& judged_part(const Task& task) { return task.valid ? *task.valid : *task.test; }

const char* judged_part_name(const Task& task) { return task.valid ? kValidPart : kTestPart; }

const char* judged_part_word(const Task& task) { return task.valid ? "validation" : "test"; }

std::vector<int64_t> class_counts(const Task& task) {
  if (task.classes <= 0) return {};
  for (size_t f = 0; f < task.fields.size(); ++f) {
    const Field& field = task.fields[f];
    if (field.below != task.classes || field.dtype != DType::i32 || !field.shape.empty()) continue;
    const std::span<const std::byte> table = judged_part(task).table(f);
    std::vector<int64_t> counts(table.empty() ? 0 : static_cast<size_t>(task.classes));
    for (size_t at = 0; at + sizeof(int32_t) <= table.size(); at += sizeof(int32_t)) {
      int32_t label = 0;
      std::memcpy(&label, table.data() + at, sizeof(label));
      if (label < 0 || label >= task.classes) return {};
      ++counts[static_cast<size_t>(label)];
    }
    return counts;
  }
  return {};
}

}  // namespace kb
