// Which sample stands in which row of which batch. Every answer is a pure function of (seed, step, row), found in
// O(1) time and memory, so that resuming at any step costs nothing and needs nothing saved but the step itself.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace kb {

/// The permutation of [0, count) that belongs to (seed, epoch): a keyed Feistel network over the smallest power of two
/// that holds `count`, walked along its cycles until it falls inside (Black and Rogaway, "Ciphers with arbitrary finite
/// domains", CT-RSA 2002, method 2). Fewer than two walks are expected for each access.
class Permutation {
 public:
  /// Throws DataError if count < 1.
  Permutation(uint64_t seed, int64_t epoch, int64_t count);

  /// The sample at `position`, 0 <= position < count.
  int64_t operator()(int64_t position) const;

 private:
  static constexpr int kRounds = 8;
  uint64_t encipher(uint64_t word) const;

  uint64_t count_;
  int low_bits_, high_bits_;
  std::array<uint64_t, kRounds> keys_;
};

/// One row of a batch: the sample that fills it, and the weight of its loss in the reduction over samples.
struct OrderRow {
  int64_t sample;
  float weight;
  bool operator==(const OrderRow&) const = default;
};

/// The rows of every batch of a run, of `minibatch` rows each (the global minibatch kn; a process that owns a part of
/// it asks for its own rows). Steps count on over the epochs.
class Order {
 public:
  /// One permutation an epoch; the count % minibatch samples at its end are dropped, others each epoch. A row weighs
  /// 1 / minibatch, so that a weighted sum of losses is the mean. Throws DataError if 1 <= minibatch <= count is false.
  static Order training(uint64_t seed, int64_t count, int64_t minibatch);

  /// Every sample once, in order, with weight 1; the tail of the last batch repeats the last sample with weight 0.
  /// Throws DataError if count or minibatch is below 1.
  static Order evaluation(int64_t count, int64_t minibatch);

  /// This order of other samples: `members[i]` stands where this one has sample i. Throws DataError unless there
  /// are as many members as samples, none below 0.
  Order within(std::shared_ptr<const std::vector<int64_t>> members) const;

  /// This order for a run that is at `step` and `epoch` when it begins with it: steps count from `step` on, and the
  /// first of them is the first of that epoch. Throws DataError for a number below 0.
  Order beginning(int64_t step, int64_t epoch) const;

  float weight() const { return weight_; }  // of a row that is no padding
  /// One past the largest sample: whoever is read by this order has at least so many.
  int64_t sample_end() const { return sample_end_; }
  int64_t minibatch() const { return minibatch_; }
  /// floor(count / minibatch) in training, ceil(count / minibatch) in evaluation.
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  int64_t epoch(int64_t step) const { return first_epoch_ + (step - first_step_) / steps_per_epoch_; }

  /// Row `row` of the batch of `step`, 0 <= row < minibatch; O(1).
  OrderRow row(int64_t step, int64_t row) const;

 private:
  Order() = default;
  bool shuffled_ = false;
  uint64_t seed_ = 0;
  int64_t count_ = 0, sample_end_ = 0, minibatch_ = 0, steps_per_epoch_ = 0;
  int64_t first_step_ = 0, first_epoch_ = 0;
  float weight_ = 1;
  std::shared_ptr<const std::vector<int64_t>> members_;  // null: every sample stands for itself
};

}  // namespace kb
