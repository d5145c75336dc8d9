#include "data/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "data/error.h"
#include "data/hash_random.h"

namespace kb {
namespace {

void require_positive(const char* what, int64_t value) {
  if (value >= 1) return;
  throw DataError({"sample order", fmt::format("no {} to order", what), "at least 1", fmt::to_string(value), ""});
}

constexpr uint64_t low_mask(int bits) { return (uint64_t{1} << bits) - 1; }

}  // namespace

Permutation::Permutation(uint64_t seed, int64_t epoch, int64_t count) : count_(static_cast<uint64_t>(count)) {
  require_positive("samples", count);
  const int bits = std::max(2, static_cast<int>(std::bit_width(count_ - 1)));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
  for (int round = 0; round < kRounds; ++round) keys_[round] = hash_words(seed, epoch, round);
}

// Maps a word by rounds, each of which undoes itself, so that the whole is a bijection. The two halves of the word may
// differ in length by one bit and do not change places: odd rounds alter the low half by the high one, even rounds the
// high half by the low one.
uint64_t Permutation::encipher(uint64_t word) const {
  uint64_t low = word & low_mask(low_bits_), high = word >> low_bits_;
  for (int round = 0; round < kRounds; round += 2) {
    high ^= mix64(keys_[round] + low) & low_mask(high_bits_);
    low ^= mix64(keys_[round + 1] + high) & low_mask(low_bits_);
  }
  return high << low_bits_ | low;
}

int64_t Permutation::operator()(int64_t position) const {
  uint64_t word = encipher(static_cast<uint64_t>(position));
  while (word >= count_) word = encipher(word);
  return static_cast<int64_t>(word);
}

Order Order::of(std::vector<OrderBucket> buckets) {
  Order order;
  for (OrderBucket& bucket : buckets) {
    require_positive("rows in a minibatch", bucket.minibatch);
    if (bucket.samples && std::ssize(*bucket.samples) != bucket.count)
      throw DataError({"sample order", "the samples of a bucket are not as many as it says",
                       fmt::to_string(bucket.count), fmt::to_string(bucket.samples->size()), ""});
    order.count_ += bucket.count;
    const int64_t end =
        bucket.samples && bucket.count > 0 ? *std::ranges::max_element(*bucket.samples) + 1 : bucket.count;
    order.sample_end_ = std::max(order.sample_end_, end);
    Part part;
    part.count = bucket.count;
    part.minibatch = bucket.minibatch;
    part.samples = std::move(bucket.samples);
    order.parts_.push_back(std::move(part));
  }
  require_positive("samples", order.count_);
  return order;
}

Order Order::training(uint64_t seed, int64_t count, int64_t minibatch) {
  return training(seed, {{count, minibatch, nullptr}});
}

Order Order::training(uint64_t seed, std::vector<OrderBucket> buckets) {
  Order order = of(std::move(buckets));
  order.shuffled_ = true;
  order.seed_ = seed;
  int64_t carried = 0;
  for (Part& part : order.parts_) {
    part.carried = carried;
    part.steps = (part.count + carried) / part.minibatch;
    part.first_step = order.steps_per_epoch_;
    part.weight = 1.0f / static_cast<float>(part.minibatch);
    carried = (part.count + carried) % part.minibatch;
    order.steps_per_epoch_ += part.steps;
  }
  if (order.steps_per_epoch_ == 0) {
    throw DataError({"sample order", "the minibatch is larger than the training set",
                     fmt::format("at most {} rows", order.count_), fmt::to_string(order.parts_.back().minibatch),
                     "an epoch draws each sample at most once and drops the incomplete batch: lower the minibatch"});
  }
  return order;
}

Order Order::evaluation(int64_t count, int64_t minibatch) { return evaluation({{count, minibatch, nullptr}}); }

Order Order::evaluation(std::vector<OrderBucket> buckets) {
  Order order = of(std::move(buckets));
  for (Part& part : order.parts_) {
    part.steps = (part.count + part.minibatch - 1) / part.minibatch;
    part.first_step = order.steps_per_epoch_;
    order.steps_per_epoch_ += part.steps;
  }
  return order;
}

Order Order::within(std::shared_ptr<const std::vector<int64_t>> members) const {
  if (std::ssize(*members) < sample_end_ || (parts_.size() == 1 && std::ssize(*members) != count_))
    throw DataError({"sample order", "its members are not as many as its samples", fmt::to_string(count_),
                     fmt::to_string(members->size()), ""});
  const auto [least, most] = std::minmax_element(members->begin(), members->end());
  if (*least < 0)
    throw DataError({"sample order", "a member is no sample", "numbers >= 0", fmt::to_string(*least), ""});
  Order order = *this;
  order.sample_end_ = *most + 1;
  order.members_ = std::move(members);
  return order;
}

Order Order::beginning(int64_t step, int64_t epoch, int64_t sample) const {
  if (step < 0 || epoch < 0)
    throw DataError({"sample order", "it begins before the run", "a step and an epoch >= 0",
                     fmt::format("step {}, epoch {}", step, epoch), ""});
  if (sample < 0 || sample >= count_)
    throw DataError({"sample order", "it begins outside its epoch", fmt::format("a sample in [0, {})", count_),
                     fmt::to_string(sample), ""});
  if (sample > 0 && parts_.size() > 1)
    throw DataError({"sample order", fmt::format("it begins within an epoch of {} buckets", parts_.size()),
                     "the begin of an epoch", fmt::format("sample {}", sample), ""});
  Order order = *this;
  order.first_step_ = step;
  order.first_epoch_ = epoch;
  order.first_sample_ = sample;
  order.rest_steps_ = sample > 0 ? (count_ - sample) / parts_.front().minibatch : 0;
  return order;
}

int64_t Order::left_out() const {
  const Part& last = parts_.back();
  return shuffled_ ? (last.count + last.carried) % last.minibatch : 0;
}

Order::Place Order::place(int64_t step) const {
  const int64_t own = step - first_step_, whole = own - rest_steps_;
  if (whole < 0) return {first_epoch_, 0, first_sample_ + own * parts_.front().minibatch};
  const int64_t first_whole = first_epoch_ + (first_sample_ > 0 ? 1 : 0);
  return place_in_epoch(first_whole + whole / steps_per_epoch_, whole % steps_per_epoch_);
}

// Keys of the permutations of an epoch of several buckets. The permutation of the only bucket of an order has the seed
// itself.
constexpr uint64_t kStepsKey = 0x73746570, kBucketKey = 0x6275636b;

Order::Place Order::place_in_epoch(int64_t epoch, int64_t step) const {
  const int64_t number =
      shuffled_ && parts_.size() > 1 ? Permutation(mix64(seed_ + kStepsKey), epoch, steps_per_epoch_)(step) : step;
  size_t bucket = 0;
  while (number >= parts_[bucket].first_step + parts_[bucket].steps) ++bucket;
  return {epoch, bucket, (number - parts_[bucket].first_step) * parts_[bucket].minibatch};
}

// Returns the sample at a position of a bucket in an epoch, where the samples carried from the bucket before stand
// before the bucket's own ones, all of them permuted.
int64_t Order::sample_at(size_t bucket, int64_t epoch, int64_t position) const {
  const Part& part = parts_[bucket];
  const uint64_t seed = parts_.size() == 1 ? seed_ : mix64(seed_ + kBucketKey + bucket);
  const int64_t at = shuffled_ ? Permutation(seed, epoch, part.count + part.carried)(position) : position;
  if (at < part.carried)
    return sample_at(bucket - 1, epoch, parts_[bucket - 1].steps * parts_[bucket - 1].minibatch + at);
  return part.samples ? (*part.samples)[static_cast<size_t>(at - part.carried)] : at - part.carried;
}

OrderRow Order::row(int64_t step, int64_t row) const {
  const auto [epoch, bucket, first] = place(step);
  const Part& part = parts_[bucket];
  const int64_t end = part.count + part.carried, position = first + row;
  const int64_t sample = sample_at(bucket, epoch, std::min(position, end - 1));
  return {members_ ? (*members_)[static_cast<size_t>(sample)] : sample, position < end ? part.weight : 0};
}

}  // namespace kb
