#include "recipes/train/data_check.h"

#include <fmt/format.h>

#include <cmath>

namespace kb {
namespace {

// Memory for the float fields of one batch that a program reads, and a search for values that are not finite.
class FloatFields {
 public:
  FloatFields(const Session& session, const std::vector<Field>& fields, const Bucket& bucket)
      : fields_(fields),
        weights_(static_cast<size_t>(bucket.per_worker)),
        samples_(static_cast<size_t>(bucket.per_worker)) {
    for (const Field& field : fields) {
      const bool is_read = is_float(field.dtype) && (field.in_memory || session.has_input(field.name));
      is_any_ = is_any_ || is_read;
      bytes_.emplace_back(is_read ? static_cast<size_t>(bucket.per_worker * field.sample_bytes(bucket.length)) : 0);
    }
    for (std::vector<std::byte>& bytes : bytes_) memory_.fields.emplace_back(bytes);
    memory_.weights = weights_;
    memory_.samples = samples_;
  }

  bool is_any() const { return is_any_; }

  std::string fault(const FieldFill& fill, int64_t batch, const SampleNames& names) {
    fill(batch, memory_);
    for (size_t f = 0; f < fields_.size(); ++f)
      for (int64_t at = 0; at < std::ssize(bytes_[f]) / size_of(fields_[f].dtype); ++at)
        if (const double value = load_element(fields_[f].dtype, bytes_[f].data(), at); !std::isfinite(value))
          return text(f, at, value, names);
    return "";
  }

 private:
  std::string text(size_t f, int64_t at, double value, const SampleNames& names) const {
    const int64_t values = std::ssize(bytes_[f]) / size_of(fields_[f].dtype) / std::ssize(samples_);
    return fmt::format("field '{}' of {}: value {} of {} is {}", fields_[f].name,
                       names.text(samples_[static_cast<size_t>(at / values)]), at % values, values, value);
  }

  const std::vector<Field>& fields_;
  bool is_any_ = false;
  std::vector<std::vector<std::byte>> bytes_;  // one entry per field; empty for a field that is not searched
  std::vector<float> weights_;
  std::vector<int32_t> samples_;
  FieldMemory memory_;
};

}  // namespace

std::string data_fault(const LoopParts& parts, int64_t step) {
  const Source& source = *parts.task.train;
  const size_t bucket = parts.order.bucket(step);
  FloatFields fields(*parts.of_phase()[bucket], parts.task.fields, parts.settled.buckets[bucket]);
  if (!fields.is_any() || source.is_constant()) return "";
  const FieldFill fill = training_fill(parts);
  for (int64_t worker = 0; worker < parts.batch.virtual_workers; ++worker) {
    std::string fault = fields.fault(fill, step * parts.batch.virtual_workers + worker, {kTrainingPart, &source});
    if (!fault.empty()) return fault;
  }
  return "";
}

std::string judged_data_fault(const LoopParts& parts) {
  const Source& part = judged_part(parts.task);
  const Order order = evaluation_order(parts.settled, part);
  const FieldFill fill = part.gather(order, 0);
  for (int64_t batch = 0; batch < order.steps_per_epoch(); ++batch) {
    const size_t bucket = order.bucket(batch);
    FloatFields fields(*parts.in_phase(parts.inference, parts.phase)[bucket], parts.task.fields,
                       parts.settled.buckets[bucket]);
    if (!fields.is_any() || part.is_constant()) return "";
    if (std::string fault = fields.fault(fill, batch, {judged_part_word(parts.task), &part}); !fault.empty())
      return fault;
  }
  return "";
}

}  // namespace kb
