// The sample in each row of each batch. Every answer is a function of (seed, step, row), found in O(1) time and memory:
// resuming at a step needs no saved state but the number of the step.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace kb {

/// The permutation of [0, count) for (seed, epoch): a keyed Feistel network over the smallest power of two that holds
/// `count`, walked along its cycles until it falls inside (Black and Rogaway, "Ciphers with arbitrary finite domains",
/// CT-RSA 2002, method 2). An access takes fewer than two walks on average.
class Permutation {
 public:
  /// Throws DataError when count < 1.
  Permutation(uint64_t seed, int64_t epoch, int64_t count);

  /// Returns the sample at `position`, 0 <= position < count.
  int64_t operator()(int64_t position) const;

 private:
  static constexpr int kRounds = 8;
  uint64_t encipher(uint64_t word) const;

  uint64_t count_;
  int low_bits_, high_bits_;
  std::array<uint64_t, kRounds> keys_;
};

/// One row of a batch: its sample, and the weight of the sample's loss in the sum over samples.
struct OrderRow {
  int64_t sample;
  float weight;
  bool operator==(const OrderRow&) const = default;
};

/// The rows of all batches of a run. Each batch has `minibatch` rows, the global minibatch kn; a process asks for its
/// own rows. Steps are numbered over all epochs.
class Order {
 public:
  /// Returns an order with one permutation an epoch. The last count % minibatch samples of it are left out, other ones
  /// each epoch. A row weighs 1 / minibatch, so that the weighted sum of losses is their mean. Throws DataError unless
  /// 1 <= minibatch <= count.
  static Order training(uint64_t seed, int64_t count, int64_t minibatch);

  /// Returns an order with every sample once, in their order, with weight 1. The end of the last batch repeats the last
  /// sample with weight 0. Throws DataError when count or minibatch is below 1.
  static Order evaluation(int64_t count, int64_t minibatch);

  /// Returns this order over other samples: members[i] takes the place of sample i. Throws DataError unless there are
  /// as many members as samples, and none is negative.
  Order within(std::shared_ptr<const std::vector<int64_t>> members) const;

  /// Returns this order for a run that changes to it at `step`, when the first `sample` samples of the permutation of
  /// `epoch` have been drawn: the rest of them follows, but for the last ones that fill no minibatch. Throws DataError
  /// when a number is negative, or no sample of the epoch is left.
  Order beginning(int64_t step, int64_t epoch, int64_t sample = 0) const;

  float weight() const { return weight_; }  // weight of a row that is not padding
  /// Returns one more than the greatest sample; a split that is read in this order has at least so many samples.
  int64_t sample_end() const { return sample_end_; }
  int64_t minibatch() const { return minibatch_; }
  /// Returns floor(count / minibatch) in training and ceil(count / minibatch) in evaluation.
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  /// Returns the seed of the permutations; 0 in evaluation.
  uint64_t seed() const { return seed_; }
  int64_t epoch(int64_t step) const { return place(step).epoch; }

  /// Returns row `row` of the batch of `step`, 0 <= row < minibatch, in O(1).
  OrderRow row(int64_t step, int64_t row) const;

 private:
  // Tells the epoch of a batch and the position of its first row in the order of that epoch.
  struct Place {
    int64_t epoch, position;
  };
  Place place(int64_t step) const;

  Order() = default;
  bool shuffled_ = false;
  uint64_t seed_ = 0;
  int64_t count_ = 0, sample_end_ = 0, minibatch_ = 0, steps_per_epoch_ = 0;
  int64_t first_step_ = 0, first_epoch_ = 0;
  // An epoch that another order began has had so many samples drawn, and so many steps are left of it.
  int64_t first_sample_ = 0, rest_steps_ = 0;
  float weight_ = 1;
  std::shared_ptr<const std::vector<int64_t>> members_;  // null: sample i is itself
};

}  // namespace kb
