// Sources of samples: a part of a data set, as the fields that a task names (recipes/task/task.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "data/order.h"
#include "graph/element.h"

namespace kb {

// Memory that takes one batch.
struct FieldMemory {
  // In the order of the task's fields, each rows x bytes of a sample; empty where nobody reads the field.
  std::vector<std::span<std::byte>> fields;
  std::span<float> weights;         // rows; see Order
  std::span<int32_t> samples = {};  // rows: numbers of the samples, for a device that holds the data set; may be empty
};

// Fills one batch. Several threads call it at once, each for a step of its own; it must not keep state that its output
// depends on.
using FieldFill = std::function<void(int64_t step, const FieldMemory& memory)>;

class Source {
 public:
  virtual ~Source() = default;
  virtual int64_t count() const = 0;  // samples
  // Returns what fills the rows [first_row, first_row + rows) of each batch of `order`, as many rows as the memory has
  // weights. The source must outlive it. Throws Error where the order has samples that the source has not; the fill
  // does for fields of other sizes.
  virtual FieldFill gather(const Order& order, int64_t first_row) const = 0;
  // Returns the field of all samples, one after another, for devices that hold the data set; empty: it is in no memory.
  virtual std::span<const std::byte> table(size_t /*field*/) const { return {}; }
  // Returns a hash of the samples as hexadecimal digits; "": the tables hold all that is to be hashed.
  virtual std::string fingerprint() const { return {}; }
  // Returns the dtype of the field's bytes; nothing: it is the one that the task declares.
  virtual std::optional<DType> field_dtype(size_t /*field*/) const { return {}; }
  // Return the greatest length of a sample's ragged fields, which decides its bucket, and the number of values that
  // they have together; 0 where no field is ragged.
  virtual int64_t length(int64_t /*sample*/) const { return 0; }
  virtual int64_t ragged_values(int64_t /*sample*/) const { return 0; }
  // Returns the number of a sample among those that there were before some were held out.
  virtual int64_t number_before(int64_t sample) const { return sample; }
  // Returns a line for each sample that could not be read and was replaced so far: its name and why.
  virtual std::vector<std::string> replaced() const { return {}; }
  // Returns the most bytes that a thread takes beside the batch while it reads a sample.
  virtual int64_t reading_bytes() const { return 0; }
  // Returns true for noise, of which every batch is like the first.
  virtual bool is_constant() const { return false; }
};

// How messages name the samples of a source.
struct SampleNames {
  const char* part = "";           // "training"; empty: it is not told
  const Source* source = nullptr;  // that knows the numbers before some were held out; null: numbers are told as given

  std::string text(int64_t sample) const;  // "training sample 77"
};

// A sample to read. An augmentation that follows from `seed`, `epoch` and `number` alone gives the same values in every
// split over workers, and in a training that is gone on with.
struct SampleRequest {
  int64_t number = 0;  // in [0, count)
  uint64_t seed = 0;   // seed of the sample order; 0 in an evaluation
  int64_t epoch = 0;   // from 0; 0 in an evaluation
};

// A source that gives one sample at a time.
class SampleSource : public Source {
 public:
  // `sample_bytes`: of each field; 0 for a ragged one, which has as many bytes a sample as the memory has.
  explicit SampleSource(std::vector<size_t> sample_bytes) : sample_bytes_(std::move(sample_bytes)) {}

  // Writes the fields of one sample, those whose span is not empty. Called by several threads at once.
  virtual void read(const SampleRequest& sample, std::span<const std::span<std::byte>> fields) const = 0;
  // The fill throws Error where the memory has other fields.
  FieldFill gather(const Order& order, int64_t first_row) const override;

 private:
  std::vector<size_t> sample_bytes_;
};

// Values of a field, those of all samples one after another, with their dtype.
struct FieldBytes {
  DType dtype = DType::f32;
  std::vector<std::byte> bytes;
};

// Returns a copy of the values.
template <std::ranges::contiguous_range Values>
requires Element<std::ranges::range_value_t<Values>> FieldBytes field_bytes(const Values& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {dtype_of<std::ranges::range_value_t<Values>>(), {bytes.begin(), bytes.end()}};
}

// A source whose samples lie in memory, field by field.
class TableSource : public SampleSource {
 public:
  // `fields`: in the order of the task's, each of all samples. Throws Error where a field does not hold `count` samples
  // of one size.
  TableSource(int64_t count, std::vector<FieldBytes> fields);

  int64_t count() const override { return count_; }
  void read(const SampleRequest& sample, std::span<const std::span<std::byte>> fields) const override;
  std::span<const std::byte> table(size_t field) const override {
    return field < fields_.size() ? fields_[field].bytes : std::span<const std::byte>();
  }
  std::optional<DType> field_dtype(size_t field) const override {
    return field < fields_.size() ? std::optional(fields_[field].dtype) : std::nullopt;
  }

 private:
  int64_t count_;
  std::vector<FieldBytes> fields_;
};

// Gathers for a run of `workers` of `all` virtual workers, a batch each: batch b is of step b / workers, and holds the
// rows of worker first_worker + b % workers, an equal share of the step's minibatch.
struct WorkerRange {
  int64_t first = 0, workers = 1, all = 1;
};
FieldFill gather_workers(const Source& source, const Order& order, const WorkerRange& range);

}  // namespace kb
