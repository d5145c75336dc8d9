#include "recipes/task/source.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "graph/error.h"

namespace kb {
namespace {

void check_memory(const FieldMemory& memory, const std::vector<size_t>& sample_bytes, int64_t first_row,
                  int64_t minibatch) {
  const size_t rows = memory.weights.size();
  if (first_row < 0 || first_row + static_cast<int64_t>(rows) > minibatch ||
      !(memory.samples.empty() || memory.samples.size() == rows))
    throw std::logic_error(fmt::format("{} rows at row {} of a minibatch of {}", rows, first_row, minibatch));
  if (memory.fields.size() != sample_bytes.size())
    throw Error(
        fmt::format("a source gives {} fields of a sample: expected the {} that the task declares (Task::fields)",
                    sample_bytes.size(), memory.fields.size()));
  for (size_t f = 0; f < sample_bytes.size(); ++f)
    if (sample_bytes[f] > 0 && !memory.fields[f].empty() && memory.fields[f].size() != rows * sample_bytes[f])
      throw Error(fmt::format(
          "field {} of a source: expected {} bytes a sample, as its shape and dtype in Task::fields say, got {}", f,
          memory.fields[f].size() / rows, sample_bytes[f]));
}

}  // namespace

std::string SampleNames::text(int64_t sample) const {
  return fmt::format("{}{}sample {}", part, *part == '\0' ? "" : " ", source ? source->number_before(sample) : sample);
}

FieldFill SampleSource::gather(const Order& order, int64_t first_row) const {
  if (order.sample_end() > count())
    throw Error(fmt::format("a source of {} samples: expected an order of at most so many, got one of {}", count(),
                            order.sample_end()));
  return [this, order, first_row](int64_t step, const FieldMemory& memory) {
    check_memory(memory, sample_bytes_, first_row, order.minibatch(step));
    std::vector<std::span<std::byte>> fields(memory.fields.size());
    const size_t rows = memory.weights.size();
    for (size_t row = 0; row < rows; ++row) {
      const auto [sample, weight] = order.row(step, first_row + static_cast<int64_t>(row));
      memory.weights[row] = weight;
      if (!memory.samples.empty()) memory.samples[row] = static_cast<int32_t>(sample);
      for (size_t f = 0; f < fields.size(); ++f) {
        const size_t bytes = memory.fields[f].size() / rows;
        if (bytes > 0) fields[f] = memory.fields[f].subspan(row * bytes, bytes);
      }
      read({sample, order.seed(), order.epoch(step)}, fields);
    }
  };
}

namespace {

std::vector<size_t> sample_sizes(int64_t count, const std::vector<FieldBytes>& fields) {
  if (count < 1) throw Error(fmt::format("a source has no samples\n  expected: one or more\n  got:      {}", count));
  std::vector<size_t> sizes;
  for (const auto& [dtype, field] : fields) {
    if (field.size() % static_cast<size_t>(count) != 0)
      throw Error(
          fmt::format("field {} of a source: expected a whole number of bytes for each of {} samples, got {} bytes",
                      sizes.size(), count, field.size()));
    sizes.push_back(field.size() / static_cast<size_t>(count));
  }
  return sizes;
}

}  // namespace

TableSource::TableSource(int64_t count, std::vector<FieldBytes> fields)
    : SampleSource(sample_sizes(count, fields)), count_(count), fields_(std::move(fields)) {}

void TableSource::read(const SampleRequest& sample, std::span<const std::span<std::byte>> fields) const {
  for (size_t f = 0; f < fields.size(); ++f)
    if (!fields[f].empty())
      std::memcpy(fields[f].data(), fields_[f].bytes.data() + static_cast<size_t>(sample.number) * fields[f].size(),
                  fields[f].size());
}

FieldFill gather_workers(const Source& source, const Order& order, const WorkerRange& range) {
  std::vector<std::vector<FieldFill>> fills(order.bucket_count());  // of each bucket, of each worker
  for (size_t bucket = 0; bucket < fills.size(); ++bucket)
    for (int64_t worker = range.first; worker < range.first + range.workers; ++worker)
      fills[bucket].push_back(source.gather(order, worker * (order.minibatch_of(bucket) / range.all)));
  return [fills = std::move(fills), order, workers = range.workers](int64_t batch, const FieldMemory& memory) {
    const int64_t step = batch / workers;
    fills[order.bucket(step)][static_cast<size_t>(batch % workers)](step, memory);
  };
}

}  // namespace kb
