// Sources of samples: a part of a data set, as the fields that a task names (recipes/task/task.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/order.h"

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
  // The field of all samples, one behind the other, for devices that hold the data set; empty: it is in no memory.
  virtual std::span<const std::byte> table(size_t /*field*/) const { return {}; }
  // Samples that could not be read and were replaced so far, a line each: the name and why.
  virtual std::vector<std::string> replaced() const { return {}; }
  // Memory that a thread takes beside the batch while it reads a sample, at most, in bytes.
  virtual int64_t reading_bytes() const { return 0; }
  // True for noise, of which every batch is like the first.
  virtual bool is_constant() const { return false; }
};

// A source that gives one sample at a time.
class SampleSource : public Source {
 public:
  // `sample_bytes`: of each field.
  explicit SampleSource(std::vector<size_t> sample_bytes) : sample_bytes_(std::move(sample_bytes)) {}

  // Writes the fields of one sample, those whose span is not empty. Called by several threads at once.
  virtual void read(int64_t sample, std::span<const std::span<std::byte>> fields) const = 0;
  // The fill throws Error where the memory has other fields.
  FieldFill gather(const Order& order, int64_t first_row) const override;

 private:
  std::vector<size_t> sample_bytes_;
};

// A source whose samples lie in memory, field by field.
class TableSource : public SampleSource {
 public:
  // `fields`: in the order of the task's, each of all samples, one behind the other. Throws Error where a field does
  // not hold `count` samples of one size.
  TableSource(int64_t count, std::vector<std::vector<std::byte>> fields);

  int64_t count() const override { return count_; }
  void read(int64_t sample, std::span<const std::span<std::byte>> fields) const override;
  std::span<const std::byte> table(size_t field) const override { return fields_[field]; }

 private:
  int64_t count_;
  std::vector<std::vector<std::byte>> fields_;
};

// Returns a copy of the values as the bytes of a field.
template <class Values>
std::vector<std::byte> field_bytes(const Values& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// Gathers for a run of virtual workers, a batch each: batch b is of step b / workers, and holds the rows of worker
// first_worker + b % workers, `rows` each.
FieldFill gather_workers(const Source& source, const Order& order, int64_t first_worker, int64_t workers, int64_t rows);

}  // namespace kb
