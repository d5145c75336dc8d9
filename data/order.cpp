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

Order Order::training(uint64_t seed, int64_t count, int64_t minibatch) {
  require_positive("samples", count);
  require_positive("rows in a minibatch", minibatch);
  if (minibatch > count) {
    throw DataError({"sample order", "the minibatch is larger than the training set",
                     fmt::format("at most {} rows", count), fmt::to_string(minibatch),
                     "an epoch draws each sample at most once and drops the incomplete batch: lower the minibatch"});
  }
  Order order;
  order.shuffled_ = true;
  order.seed_ = seed;
  order.count_ = order.sample_end_ = count;
  order.minibatch_ = minibatch;
  order.steps_per_epoch_ = count / minibatch;
  order.weight_ = 1.0f / static_cast<float>(minibatch);
  return order;
}

Order Order::evaluation(int64_t count, int64_t minibatch) {
  require_positive("samples", count);
  require_positive("rows in a minibatch", minibatch);
  Order order;
  order.count_ = order.sample_end_ = count;
  order.minibatch_ = minibatch;
  order.steps_per_epoch_ = (count - 1) / minibatch + 1;
  return order;
}

Order Order::within(std::shared_ptr<const std::vector<int64_t>> members) const {
  if (std::ssize(*members) != count_)
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
  Order order = *this;
  order.first_step_ = step;
  order.first_epoch_ = epoch;
  order.first_sample_ = sample;
  order.rest_steps_ = sample > 0 ? (count_ - sample) / minibatch_ : 0;
  return order;
}

Order::Place Order::place(int64_t step) const {
  const int64_t own = step - first_step_, whole = own - rest_steps_;
  if (whole < 0) return {first_epoch_, first_sample_ + own * minibatch_};
  const int64_t first_whole = first_epoch_ + (first_sample_ > 0 ? 1 : 0);
  return {first_whole + whole / steps_per_epoch_, whole % steps_per_epoch_ * minibatch_};
}

OrderRow Order::row(int64_t step, int64_t row) const {
  const auto [epoch, first] = place(step);
  const int64_t position = first + row;
  const auto at = [this](int64_t sample) { return members_ ? (*members_)[static_cast<size_t>(sample)] : sample; };
  if (position >= count_) return {at(count_ - 1), 0};
  return {at(shuffled_ ? Permutation(seed_, epoch, count_)(position) : position), weight_};
}

}  // namespace kb
