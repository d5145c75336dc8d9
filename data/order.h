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

/// Samples that share batches, such as those of about one length.
struct OrderBucket {
  int64_t count = 0;                                              ///< samples
  int64_t minibatch = 0;                                          ///< rows of a batch that is drawn from them
  std::shared_ptr<const std::vector<int64_t>> samples = nullptr;  ///< their numbers; null: 0, 1, ..., count - 1
};

/// The rows of all batches of a run. Each batch has the rows of one global minibatch kn; a process asks for its own
/// rows. Steps are numbered over all epochs.
class Order {
 public:
  /// An order without batches.
  Order() = default;

  /// Returns an order with one permutation an epoch. The last count % minibatch samples of it are left out, other ones
  /// each epoch. A row weighs 1 / minibatch, so that the weighted sum of losses is their mean. Throws DataError unless
  /// 1 <= minibatch <= count.
  static Order training(uint64_t seed, int64_t count, int64_t minibatch);
  /// Returns an order whose batches are of one bucket each, in an order of their own each epoch. The samples of a
  /// bucket that fill no batch are drawn with those of the next bucket; those of the last one are left out, other ones
  /// each epoch. Buckets are given by rising length of their samples. Throws DataError where an epoch has no batch.
  static Order training(uint64_t seed, std::vector<OrderBucket> buckets);

  /// Returns an order with every sample once, in their order, with weight 1, bucket after bucket. The end of a bucket's
  /// last batch repeats its last sample with weight 0. Throws DataError when count or minibatch is below 1.
  static Order evaluation(int64_t count, int64_t minibatch);
  static Order evaluation(std::vector<OrderBucket> buckets);

  /// Returns this order over other samples: members[i] takes the place of sample i. Throws DataError unless there are
  /// as many members as samples (at least so many for several buckets), and none is negative.
  Order within(std::shared_ptr<const std::vector<int64_t>> members) const;

  /// Returns this order for a run that changes to it at `step`, when the first `sample` samples of the permutation of
  /// `epoch` have been drawn: the rest of them follows, but for the last ones that fill no minibatch. Throws DataError
  /// when a number is negative, no sample of the epoch is left, or `sample` is not 0 for several buckets.
  Order beginning(int64_t step, int64_t epoch, int64_t sample = 0) const;

  /// Returns one more than the greatest sample; a split that is read in this order has at least so many samples.
  int64_t sample_end() const { return sample_end_; }
  /// Return the steps of an epoch, all or of one bucket; the buckets; the rows of a bucket's batches; and the samples
  /// of an epoch that are in no batch.
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  int64_t steps_of(size_t bucket) const { return parts_.at(bucket).steps; }
  size_t bucket_count() const { return parts_.size(); }
  int64_t minibatch_of(size_t bucket) const { return parts_.at(bucket).minibatch; }
  int64_t left_out() const;
  /// Returns the seed of the permutations; 0 in evaluation.
  uint64_t seed() const { return seed_; }

  /// Return facts of a batch: its epoch, its bucket, its rows, and the weight of a row that is not padding.
  int64_t epoch(int64_t step) const { return place(step).epoch; }
  size_t bucket(int64_t step) const { return place(step).bucket; }
  int64_t minibatch(int64_t step) const { return parts_[bucket(step)].minibatch; }
  float weight(int64_t step) const { return parts_[bucket(step)].weight; }

  /// Returns row `row` of the batch of `step`, 0 <= row < minibatch, in O(1).
  OrderRow row(int64_t step, int64_t row) const;

 private:
  struct Part {
    int64_t count = 0, carried = 0;  // samples of the bucket, and of the one before that fill no batch there
    int64_t minibatch = 0, steps = 0, first_step = 0;  // steps of the bucket in an epoch; steps of those before
    float weight = 1;
    std::shared_ptr<const std::vector<int64_t>> samples = nullptr;
  };
  // Tells the epoch and the bucket of a batch, and the position of its first row in the order of that bucket.
  struct Place {
    int64_t epoch;
    size_t bucket;
    int64_t position;
  };
  Place place(int64_t step) const;
  Place place_in_epoch(int64_t epoch, int64_t step) const;
  int64_t sample_at(size_t bucket, int64_t epoch, int64_t position) const;
  static Order of(std::vector<OrderBucket> buckets);

  bool shuffled_ = false;
  uint64_t seed_ = 0;
  int64_t count_ = 0, sample_end_ = 0, steps_per_epoch_ = 0;
  int64_t first_step_ = 0, first_epoch_ = 0;
  // An epoch that another order began has had so many samples drawn, and so many steps are left of it.
  int64_t first_sample_ = 0, rest_steps_ = 0;
  std::vector<Part> parts_;                              // one for each bucket
  std::shared_ptr<const std::vector<int64_t>> members_;  // null: sample i is itself
};

}  // namespace kb
