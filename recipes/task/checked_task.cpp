#include "recipes/task/checked_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/error.h"

namespace kb {
namespace {

bool fits(DType bytes, DType field) { return bytes == field || (bytes == DType::u8 && field == DType::boolean); }

void check_dtypes(const Task& task, const char* part, const Source* source) {
  for (size_t f = 0; source && f < task.fields.size(); ++f) {
    const Field& field = task.fields[f];
    const std::optional<DType> bytes = source->field_dtype(f);
    if (bytes && !fits(*bytes, field.dtype))
      throw Error(
          fmt::format("task {}: field '{}' is declared as {}\n  expected: {} samples whose bytes are {}\n"
                      "  got:      bytes of {}",
                      task.name, field.name, name(field.dtype), part, name(field.dtype), name(*bytes)));
  }
}

// Returns the only i32 field without a bound or, among several, the only one with a single number per sample; null if
// there is no such field.
Field* labels_without_bound(std::vector<Field>& fields) {
  std::vector<Field*> all, scalars;
  for (Field& field : fields) {
    if (field.dtype != DType::i32 || field.below != 0) continue;
    all.push_back(&field);
    if (field.shape.empty()) scalars.push_back(&field);
  }
  const std::vector<Field*>& candidates = scalars.empty() ? all : scalars;
  return candidates.size() == 1 ? candidates.front() : nullptr;
}

// A field below classes + 1 has labels, too: the loss ignores the samples with the label `classes`.
void bound_labels(Task& task) {
  const auto has_bound = [&](const Field& f) { return f.below == task.classes || f.below == task.classes + 1; };
  if (task.classes == 0 || std::any_of(task.fields.begin(), task.fields.end(), has_bound)) return;
  if (Field* labels = labels_without_bound(task.fields)) labels->below = task.classes;
}

}  // namespace

Task checked_task(Task task) {
  if (task.classes < 0 || task.classes > std::numeric_limits<int32_t>::max())
    throw Error(fmt::format("task {}: expected classes in [0, 2^31), 0 where the loss is no cross-entropy, got {}",
                            task.name, task.classes));
  if (!task.train && task.read) {
    check_fields(task.name, task.fields);
    bound_labels(task);
    return task;
  }
  if (!task.train)
    throw Error(fmt::format("task {}: expected a source of training samples, got no training samples", task.name));
  check_fields(task.name, task.fields);
  check_dtypes(task, "training", task.train.get());
  check_dtypes(task, "training", task.plain.get());
  check_dtypes(task, "test", task.test.get());
  check_dtypes(task, "validation", task.valid.get());
  bound_labels(task);
  task.train_count = task.train->count();
  task.test_count = task.test ? task.test->count() : 0;
  if (!task.plain) task.plain = task.train;
  return task;
}

}  // namespace kb
