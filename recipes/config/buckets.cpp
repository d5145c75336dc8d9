#include "recipes/config/buckets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "data/text/length_buckets.h"
#include "graph/error.h"

namespace kb {
namespace {

std::vector<int64_t> lengths_of(const Source& source) {
  std::vector<int64_t> lengths;
  for (int64_t sample = 0; sample < source.count(); ++sample) lengths.push_back(source.length(sample));
  return lengths;
}

int64_t longest_of(const Source* source) { return source ? std::ranges::max(lengths_of(*source)) : 0; }

// Returns the longest sample of the parts on which a training is judged.
int64_t longest_judged(const Task& task) { return std::max(longest_of(task.test.get()), longest_of(task.valid.get())); }

std::vector<int64_t> chosen_lengths(const Task& task, const Batching& batch) {
  if (!batch.bucket.empty()) return batch.bucket;
  std::vector<int64_t> lengths = least_padding(lengths_of(*task.train), batch.bucket_count);
  lengths.back() = std::max(lengths.back(), longest_judged(task));
  return lengths;
}

void check_judged_lengths(const Task& task, int64_t length) {
  const int64_t longest = longest_judged(task);
  if (longest <= length) return;
  throw Error(
      fmt::format("batch.bucket: expected a last length that every sample to evaluate on fits, {} or more, got {}\n"
                  "  hint:     training samples that are longer are left out, those of an evaluation are not",
                  longest, length));
}

void refuse_buckets(const Task& task, const Batching& batch) {
  if (batch.bucket.empty() && batch.tokens == 0) return;
  throw Error(fmt::format("batch.{}: expected a task with ragged fields, got {}, whose samples have one shape",
                          batch.tokens > 0 ? "tokens" : "bucket", task.name));
}

}  // namespace

int64_t per_worker_at(int64_t length, const Batching& batch, const BatchPlan& plan) {
  if (batch.tokens == 0 || length == 0) return plan.per_worker;
  return std::max<int64_t>(1, batch.tokens / (length * plan.workers()));
}

std::vector<Bucket> choose_buckets(const Task& task, const Batching& batch, const BatchPlan& plan) {
  if (!task.is_ragged()) {
    refuse_buckets(task, batch);
    return {{0, plan.per_worker}};
  }
  if (task.train->is_constant()) return bucket_of_one_step(batch, plan);
  std::vector<Bucket> buckets;
  for (const int64_t length : chosen_lengths(task, batch))
    buckets.push_back({length, per_worker_at(length, batch, plan)});
  check_judged_lengths(task, buckets.back().length);
  return buckets;
}

std::vector<Bucket> bucket_of_one_step(const Batching& batch, const BatchPlan& plan) {
  const int64_t length = batch.bucket.empty() ? 0 : batch.bucket.back();
  return {{length, per_worker_at(length, batch, plan)}};
}

std::vector<OrderBucket> in_buckets(const Source& source, std::span<const Bucket> buckets,
                                    std::span<const int64_t> minibatches) {
  if (buckets.size() == 1 && (buckets[0].length == 0 || source.is_constant()))
    return {{source.count(), minibatches[0], nullptr}};
  std::vector<std::vector<int64_t>> samples(buckets.size());
  for (int64_t sample = 0; sample < source.count(); ++sample) {
    const auto fits = [length = source.length(sample)](const Bucket& bucket) { return length <= bucket.length; };
    const auto at = std::ranges::find_if(buckets, fits);
    if (at != buckets.end()) samples[static_cast<size_t>(at - buckets.begin())].push_back(sample);
  }
  std::vector<OrderBucket> all;
  for (size_t b = 0; b < buckets.size(); ++b) {
    const int64_t count = std::ssize(samples[b]);
    all.push_back({count, minibatches[b], std::make_shared<const std::vector<int64_t>>(std::move(samples[b]))});
  }
  return all;
}

std::vector<BucketSize> bucket_sizes(const Task& task, std::span<const Bucket> buckets, int64_t workers) {
  std::vector<int64_t> minibatches;
  for (const Bucket& bucket : buckets) minibatches.push_back(bucket.per_worker * workers);
  if (!task.train) return {{task.train_count, minibatches[0]}};
  std::vector<BucketSize> sizes;
  for (const OrderBucket& bucket : in_buckets(*task.train, buckets, minibatches))
    sizes.push_back({bucket.count, bucket.minibatch});
  return sizes;
}

std::string buckets_text(const Task& task, std::span<const Bucket> buckets) {
  if (buckets.front().length == 0 || task.train->is_constant()) return "";
  std::vector<int64_t> lengths;
  for (const Bucket& bucket : buckets) lengths.push_back(bucket.length);
  const int64_t fields = std::ranges::count_if(task.fields, &Field::is_ragged);
  int64_t values = 0, places = 0, left_out = 0;
  for (int64_t sample = 0; sample < task.train->count(); ++sample) {
    const auto at = std::ranges::lower_bound(lengths, task.train->length(sample));
    if (at == lengths.end()) {
      ++left_out;
      continue;
    }
    values += task.train->ragged_values(sample);
    places += fields * *at;
  }
  return fmt::format("buckets of lengths {}: {:.1f} % padding{}", fmt::join(lengths, ", "),
                     100 - 100 * static_cast<double>(values) / static_cast<double>(places),
                     left_out > 0 ? fmt::format("; {} longer samples are left out", left_out) : "");
}

double padding_of(const Source& source, const Order& order, int64_t step, int64_t length, int64_t ragged_fields) {
  const int64_t rows = order.minibatch(step);
  int64_t values = 0;
  for (int64_t row = 0; row < rows; ++row) values += source.ragged_values(order.row(step, row).sample);
  return 1 - static_cast<double>(values) / static_cast<double>(rows * length * ragged_fields);
}

}  // namespace kb
