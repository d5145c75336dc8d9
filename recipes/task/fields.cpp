#include "recipes/task/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "graph/report.h"
#include "recipes/task/suggest.h"

namespace kb {

int64_t Field::sample_bytes(int64_t length) const {
  int64_t elements = 1;
  for (const int64_t extent : shape) elements *= extent == kLength ? length : extent;
  return elements * static_cast<int64_t>(size_of(dtype));
}

Field ragged_field(std::string name, int64_t below) {
  return {.name = std::move(name), .dtype = DType::i32, .shape = {Field::kLength}, .below = below};
}

Field length_field(const std::string& name) { return {.name = name + ".length", .dtype = DType::i32}; }

namespace {

void check_ragged(const std::string& task, const std::vector<Field>& fields, const Field& field) {
  if (std::count(field.shape.begin(), field.shape.end(), Field::kLength) > (field.is_ragged() ? 1 : 0))
    throw Error(
        fmt::format("task {}: field '{}' is ragged\n  expected: kLength as its first extent alone\n  got:      {}",
                    task, field.name, shape_text({field.dtype, field.shape, ""})));
  if (!field.is_ragged()) return;
  const std::string lengths = length_field(field.name).name;
  if (std::ranges::none_of(fields, [&](const Field& other) { return other.name == lengths; }))
    throw Error(
        fmt::format("task {}: field '{}' is ragged\n  expected: a field '{}' with its lengths, length_field(\"{}\")\n"
                    "  got:      none of that name",
                    task, field.name, lengths, field.name));
}

void check_name(const std::string& task, const std::vector<Field>& fields, const Field& field) {
  const bool is_twice = std::ranges::count(fields, field.name, &Field::name) > 1;
  if (!field.name.empty() && field.name != kWeights && field.name != kLabelSmoothing && !is_twice) return;
  throw Error(fmt::format(
      "task {}: {} '{}'\n  expected: a name of its own, which is not '{}' or '{}': every graph has "
      "inputs by these",
      task, is_twice ? "two fields are called" : "a field is called", field.name, kWeights, kLabelSmoothing));
}

void check_extents(const std::string& task, const Field& field) {
  const auto first = field.shape.begin() + (field.is_ragged() ? 1 : 0);
  if (std::all_of(first, field.shape.end(), [](int64_t extent) { return extent > 0 && extent <= INT32_MAX; })) return;
  throw Error(
      fmt::format("task {}: field '{}' has an extent out of range\n  expected: extents in [1, 2^31)\n"
                  "  got:      {}",
                  task, field.name, shape_text({field.dtype, field.shape, ""})));
}

}  // namespace

void check_fields(const std::string& task, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    check_name(task, fields, field);
    check_ragged(task, fields, field);
    check_extents(task, field);
    const bool is_bound = field.below > 0 || field.below == Field::kRows;
    if (field.below == 0 || (is_bound && field.dtype == DType::i32)) continue;
    throw Error(fmt::format(
        "task {}: field '{}' has `below`, as indices have\n  expected: dtype i32, below > 0 or Field::kRows\n"
        "  got:      dtype {}, below {}",
        task, field.name, name(field.dtype), field.below));
  }
}

void check_pieces(const std::string& task, int64_t positions, int64_t pieces) {
  if (pieces == 1) return;
  if (positions == 0)
    throw Error(
        fmt::format("batch.growths: expected a task whose samples are sequences, to make them {} times as long, got {}",
                    pieces, task));
  if (positions % pieces != 0)
    throw Error(
        fmt::format("batch.growths: expected samples of a multiple of {} positions, which begin as {} pieces, "
                    "got {} of task {}",
                    pieces, pieces, positions, task));
}

void check_indices(const Field& field, std::span<const std::byte> values, int64_t rows,
                   std::span<const int32_t> samples, const SampleNames& names) {
  if (field.below == 0) return;
  const int64_t below = field.below == Field::kRows ? rows : field.below;
  const auto count = static_cast<int64_t>(values.size() / sizeof(int32_t));
  for (int64_t i = 0; i < count; ++i) {
    int32_t value = 0;
    std::memcpy(&value, values.data() + static_cast<size_t>(i) * sizeof value, sizeof value);
    if (value >= 0 && value < below) continue;
    const int64_t a_row = count / rows, row = i / a_row;
    const int64_t sample = samples.empty() ? row : samples[static_cast<size_t>(row)];
    throw Error(fmt::format("field '{}' of the task's source: expected indices in [0, {}), got {}{} of {}", field.name,
                            below, value, a_row == 1 ? "" : fmt::format(" as value {}", i % a_row),
                            names.text(sample)));
  }
}

Tensor Inputs::length(const FieldName& field) { return (*this)[{length_field(field.text).name, field.where}]; }

namespace {

int64_t checked_length(const Field& field, int64_t length) {
  if (length > 0) return length;
  throw Error(
      fmt::format("the ragged field '{}': expected a length to which it is padded, got 0\n"
                  "  hint:     batch.bucket = 64, or Task::length of the task",
                  field.name));
}

}  // namespace

Tensor Inputs::operator[](const FieldName& asked) {
  const Call call(asked.where);
  const std::string& name = asked.text;
  for (const auto& [known, tensor] : declared_)
    if (known == name) return tensor;
  for (const Field& field : fields_) {
    if (field.name != name) continue;
    Dims shape = {batch_.samples};
    shape.insert(shape.end(), field.shape.begin(), field.shape.end());
    if (field.is_ragged()) shape[1] = checked_length(field, batch_.length);
    const std::string axes = "N" + (field.axes.empty() ? std::string(field.shape.size(), '_') : field.axes);
    Tensor tensor;
    if (field.below != 0)
      tensor = index_input(graph_, name, shape, field.below == Field::kRows ? batch_.samples : field.below, axes);
    else
      tensor = input(graph_, name, is_float(field.dtype) ? real_ : field.dtype, shape, axes);
    declared_.emplace_back(name, tensor);
    return tensor;
  }
  std::vector<std::string> known;
  for (const Field& field : fields_) known.push_back(field.name);
  const std::string meant = nearest(name, known);
  report("Inputs", {"the task has no such field", fmt::format("one of {}", fmt::join(known, ", ")), name,
                    meant.empty() ? "" : fmt::format("did you mean '{}'?", meant)});
}

Tensor Inputs::weights() {
  for (const auto& [known, tensor] : declared_)
    if (known == kWeights) return tensor;
  declared_.emplace_back(kWeights, input(graph_, kWeights, real_, {batch_.samples}, "N"));
  return declared_.back().second;
}

Tensor Inputs::scalar(const std::string& name, Where where) {
  const Call call(where);
  if (name != kLabelSmoothing)
    report("Inputs::scalar", {"no such scalar", kLabelSmoothing, name,
                              "a number that stays is a constant, 0.1 * x; one that each step moves is a state "
                              "(recipes/tutorial/how_to.md)"});
  for (const auto& [known, tensor] : declared_)
    if (known == name) return tensor;
  declared_.emplace_back(name, scalar_input(graph_, name, real_));
  return declared_.back().second;
}

}  // namespace kb
