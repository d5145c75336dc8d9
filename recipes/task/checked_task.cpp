#include "recipes/task/checked_task.h"

#include <fmt/format.h>

#include <algorithm>

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

void bound_labels(Task& task) {
  const auto is_label = [](const Field& f) { return f.dtype == DType::i32 && f.shape.empty() && f.below == 0; };
  const auto has_bound = [&](const Field& f) { return f.below == task.classes; };
  std::vector<Field>& fields = task.fields;
  if (task.classes == 0 || std::any_of(fields.begin(), fields.end(), has_bound)) return;
  if (std::count_if(fields.begin(), fields.end(), is_label) == 1)
    std::find_if(fields.begin(), fields.end(), is_label)->below = task.classes;
}

}  // namespace

Task checked_task(Task task) {
  if (!task.train)
    throw Error(fmt::format("task {}: expected a source of training samples, got no training samples", task.name));
  check_fields(task);
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
