#include "data/order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// A round of a word of few bits has few keys that differ: 8 rounds would draw some permutations more often than others.
constexpr int kFewBits = 5;
constexpr size_t kRounds = 8;  // a word of more bits has so many

constexpr uint64_t low_mask(int bits) { return (uint64_t{1} << bits) - 1; }

}  // namespace

Permutation::Permutation(uint64_t seed, int64_t epoch, int64_t count) : count_(static_cast<uint64_t>(count)) {
  require_positive("samples", count);
  const int bits = std::max(2, static_cast<int>(std::bit_width(count_ - 1)));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
  rounds_ = bits <= kFewBits ? kMostRounds : kRounds;
  for (size_t round = 0; round < rounds_; ++round) keys_[round] = hash_words(seed, epoch, round);
}

// Maps a word by rounds, each of which undoes itself, so that the whole is a bijection. The two halves of the word may
// differ in length by one bit and do not change places: odd rounds alter the low half by the high one, even rounds the
// high half by the low one.
uint64_t Permutation::encipher(uint64_t word) const {
  uint64_t low = word & low_mask(low_bits_), high = word >> low_bits_;
  for (size_t round = 0; round < rounds_; round += 2) {
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
    Part part{.count = bucket.count, .minibatch = bucket.minibatch, .samples = std::move(bucket.samples)};
    order.whole_.parts.push_back(std::move(part));
  }
  require_positive("samples", order.count_);
  return order;
}

int64_t Order::Batches::handed_on(size_t bucket) const {
  return bucket + 1 < parts.size() ? parts[bucket + 1].carried : 0;
}

int64_t Order::Batches::left_out(size_t bucket) const {
  const Part& part = parts[bucket];
  return part.rows() - part.steps * part.minibatch - handed_on(bucket);
}

// Sets what the buckets behind `largest` take from those before them. Returns what they take from `largest`.
int64_t Order::Batches::fill_from(size_t largest) {
  int64_t taken = 0;
  for (size_t bucket = parts.size() - 1; bucket > largest; --bucket) {
    const int64_t own = parts[bucket].count - taken, minibatch = parts[bucket].minibatch;
    taken = own < 0 ? -own : (minibatch - own % minibatch) % minibatch;
    parts[bucket].carried = taken;
  }
  return taken;
}

// The samples of a few long ones would be left out more often than others if they were those that fill no batch.
// Therefore the largest bucket leaves out some. If it has too few to fill the batches behind it, the last bucket does.
void Order::Batches::count_steps() {
  const auto larger = [](const Part& a, const Part& b) { return a.count < b.count; };
  auto largest = static_cast<size_t>(std::ranges::max_element(parts, larger) - parts.begin());
  int64_t before = 0;  // samples of the buckets up to the largest
  for (size_t bucket = 0; bucket <= largest; ++bucket) before += parts[bucket].count;
  int64_t taken = fill_from(largest);
  if (taken > before) {
    for (; largest + 1 < parts.size(); ++largest) before += parts[largest + 1].count;
    taken = 0;
  }
  // A bucket before the largest keeps so many rows back that this has a batch of its own, if there are so many.
  const int64_t least = taken + (before - taken >= parts[largest].minibatch ? parts[largest].minibatch : 0);
  int64_t carried = 0;
  steps = 0;
  for (size_t bucket = 0; bucket < parts.size(); ++bucket) {
    Part& part = parts[bucket];
    if (bucket <= largest) {
      before -= part.count;
      part.carried = carried;
    }
    const int64_t kept = bucket < largest ? std::max<int64_t>(least - before, 0) : handed_on(bucket);
    part.steps = (part.rows() - kept) / part.minibatch;
    part.first_step = steps;
    carried = part.rows() - part.steps * part.minibatch;
    steps += part.steps;
  }
}

Order Order::training(uint64_t seed, int64_t count, int64_t minibatch) {
  return training(seed, {{count, minibatch, nullptr}});
}

Order Order::training(uint64_t seed, std::vector<OrderBucket> buckets) {
  Order order = of(std::move(buckets));
  order.shuffled_ = true;
  order.seed_ = seed;
  for (Part& part : order.whole_.parts) part.weight = 1.0f / static_cast<float>(part.minibatch);
  order.whole_.count_steps();
  if (order.whole_.steps == 0) {
    std::vector<int64_t> minibatches;
    for (const Part& part : order.whole_.parts) minibatches.push_back(part.minibatch);
    throw DataError({"sample order", "the minibatch is larger than the training set",
                     fmt::format("at most {} rows", order.count_),
                     fmt::format("{}{}", fmt::join(minibatches, ", "), minibatches.size() > 1 ? " in its buckets" : ""),
                     "an epoch draws each sample at most once and drops the incomplete batch: lower the minibatch"});
  }
  return order;
}

Order Order::evaluation(int64_t count, int64_t minibatch) { return evaluation({{count, minibatch, nullptr}}); }

Order Order::evaluation(std::vector<OrderBucket> buckets) {
  Order order = of(std::move(buckets));
  for (Part& part : order.whole_.parts) {
    part.steps = (part.count + part.minibatch - 1) / part.minibatch;
    part.first_step = order.whole_.steps;
    order.whole_.steps += part.steps;
  }
  return order;
}

Order Order::within(std::shared_ptr<const std::vector<int64_t>> members) const {
  if (std::ssize(*members) < sample_end_ || (bucket_count() == 1 && std::ssize(*members) != count_))
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

void Order::Batches::share(int64_t replicas) {
  for (Part& part : parts) {
    if (part.minibatch % replicas != 0)
      throw DataError({"sample order", "replicas do not share a batch", fmt::format("a multiple of {} rows", replicas),
                       fmt::to_string(part.minibatch), ""});
    part.weight = 1.0f / static_cast<float>(part.minibatch / replicas);
  }
}

Order Order::shared_by(int64_t replicas) const {
  require_positive("replicas", replicas);
  Order order = *this;
  order.whole_.share(replicas);
  if (rest_) {
    Rest rest = *rest_;
    rest.batches.share(replicas);
    order.rest_ = std::make_shared<const Rest>(std::move(rest));
  }
  return order;
}

Order Order::after(const Order& before, int64_t step) const {
  if (step < before.first_step_)
    throw DataError({"sample order", "it begins before the order that it goes on",
                     fmt::format("a step >= {}", before.first_step_), fmt::to_string(step), ""});
  if (!shuffled_ || !before.shuffled_ || seed_ != before.seed_ || count_ != before.count_ ||
      bucket_count() != before.bucket_count())
    throw DataError({"sample order", "it goes on an order of other samples",
                     fmt::format("{} samples in {} buckets", before.count_, before.bucket_count()),
                     fmt::format("{} in {}", count_, bucket_count()), "both must be training orders of one seed"});
  Order order = *this;
  order.first_step_ = step;
  order.first_epoch_ = before.epoch(step);
  const bool begins_epoch = step == before.first_step_ ? !before.rest_ : before.epoch(step - 1) != order.first_epoch_;
  if (begins_epoch) return order;
  const Batches& left = before.batches_of(order.first_epoch_);
  Rest rest{before, before.first_rows_from(step), count_, whole_};
  for (size_t bucket = 0; bucket < bucket_count(); ++bucket) {
    rest.batches.parts[bucket].count =
        std::ssize(rest.first_rows[bucket]) * left.parts[bucket].minibatch + left.left_out(bucket);
    rest.drawn -= rest.batches.parts[bucket].count;
  }
  rest.batches.count_steps();
  if (rest.batches.steps > 0)
    order.rest_ = std::make_shared<const Rest>(std::move(rest));
  else
    ++order.first_epoch_;
  return order;
}

// Returns the positions of the first rows of the batches from `step` to the end of its epoch, for each bucket, rising.
std::vector<std::vector<int64_t>> Order::first_rows_from(int64_t step) const {
  std::vector<std::vector<int64_t>> first_rows(bucket_count());
  const int64_t epoch = this->epoch(step);
  for (Place at = place(step); at.epoch == epoch; at = place(++step)) first_rows[at.bucket].push_back(at.position);
  for (std::vector<int64_t>& rows : first_rows) std::ranges::sort(rows);
  return first_rows;
}

int64_t Order::drawn_before() const { return rest_ ? rest_->drawn : 0; }
int64_t Order::rest_steps() const { return rest_ ? rest_->batches.steps : 0; }

int64_t Order::left_out() const {
  int64_t left_out = 0;
  for (size_t bucket = 0; shuffled_ && bucket < bucket_count(); ++bucket) left_out += whole_.left_out(bucket);
  return left_out;
}

const Order::Batches& Order::batches_of(int64_t epoch) const {
  return rest_ && epoch == first_epoch_ ? rest_->batches : whole_;
}

Order::Place Order::place(int64_t step) const {
  const int64_t own = step - first_step_, whole = own - rest_steps();
  if (whole < 0) return place_in(rest_->batches, first_epoch_, own);
  return place_in(whole_, first_epoch_ + (rest_ ? 1 : 0) + whole / whole_.steps, whole % whole_.steps);
}

// Keys of the permutations of an epoch of several buckets. The permutation of the only bucket of an order has the seed
// itself.
constexpr uint64_t kStepsKey = 0x73746570, kBucketKey = 0x6275636b;

Order::Place Order::place_in(const Batches& batches, int64_t epoch, int64_t step) const {
  const int64_t number =
      shuffled_ && bucket_count() > 1 ? Permutation(mix64(seed_ + kStepsKey), epoch, batches.steps)(step) : step;
  size_t bucket = 0;
  while (number >= batches.parts[bucket].first_step + batches.parts[bucket].steps) ++bucket;
  const Part& part = batches.parts[bucket];
  return {epoch, bucket, (number - part.first_step) * part.minibatch};
}

// Returns the sample at a position of a bucket in an epoch, where the samples carried from the bucket before stand
// before the bucket's own ones, all of them permuted. The rest of the only bucket of an order is permuted already.
int64_t Order::sample_at(size_t bucket, int64_t epoch, int64_t position) const {
  const Batches& batches = batches_of(epoch);
  const Part& part = batches.parts[bucket];
  const bool is_only = bucket_count() == 1;
  const uint64_t seed = is_only ? seed_ : mix64(seed_ + kBucketKey + bucket);
  const bool permutes = shuffled_ && !(is_only && &batches != &whole_);
  const int64_t at = permutes ? Permutation(seed, epoch, part.rows())(position) : position;
  if (at >= part.carried) return own_sample(bucket, epoch, at - part.carried);
  const Part& from = batches.parts[bucket - 1];
  return sample_at(bucket - 1, epoch, from.steps * from.minibatch + at);
}

// Returns the sample with this number among a bucket's own samples in an epoch: those of the bucket, or those that the
// order before left, of which the ones that filled no batch stand last.
int64_t Order::own_sample(size_t bucket, int64_t epoch, int64_t number) const {
  if (&batches_of(epoch) == &whole_) {
    const Part& part = whole_.parts[bucket];
    return part.samples ? (*part.samples)[static_cast<size_t>(number)] : number;
  }
  const Batches& left = rest_->before.batches_of(epoch);
  const Part& part = left.parts[bucket];
  const std::vector<int64_t>& first_rows = rest_->first_rows[bucket];
  const int64_t behind = number - std::ssize(first_rows) * part.minibatch;  // number among those that filled no batch
  const int64_t position = behind < 0
                               ? first_rows[static_cast<size_t>(number / part.minibatch)] + number % part.minibatch
                               : part.steps * part.minibatch + left.handed_on(bucket) + behind;
  return rest_->before.sample_at(bucket, epoch, position);
}

OrderRow Order::row(int64_t step, int64_t row) const {
  const auto [epoch, bucket, first] = place(step);
  const Part& part = batches_of(epoch).parts[bucket];
  const int64_t end = part.rows(), position = first + row;
  const int64_t sample = sample_at(bucket, epoch, std::min(position, end - 1));
  return {members_ ? (*members_)[static_cast<size_t>(sample)] : sample, position < end ? part.weight : 0};
}

}  // namespace kb
