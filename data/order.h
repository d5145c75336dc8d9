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
  uint64_t encipher(uint64_t word) const;

  static constexpr size_t kMostRounds = 24;
  uint64_t count_;
  int low_bits_, high_bits_;
  size_t rounds_;
  std::array<uint64_t, kMostRounds> keys_;
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
  /// Returns an order whose batches are of one bucket each, in an order of their own each epoch. Samples of a bucket
  /// before the largest that fill no batch are drawn with those of the next bucket, and buckets behind the largest take
  /// as many as they lack from the one before. The samples of the largest that are in no batch then are left out,
  /// others each epoch. Buckets go by rising length. Throws DataError where there is no batch.
  static Order training(uint64_t seed, std::vector<OrderBucket> buckets);

  /// Returns an order with every sample once, in their order, with weight 1, bucket after bucket. The end of a bucket's
  /// last batch repeats its last sample with weight 0. Throws DataError when count or minibatch is below 1.
  static Order evaluation(int64_t count, int64_t minibatch);
  static Order evaluation(std::vector<OrderBucket> buckets);

  /// Returns this order over other samples: members[i] takes the place of sample i. Throws DataError unless there are
  /// as many members as samples (at least so many for several buckets), and none is negative.
  Order within(std::shared_ptr<const std::vector<int64_t>> members) const;

  /// Returns this order with weights by which the rows of each of `replicas` equal parts of a batch have the mean of
  /// their losses as weighted sum. Throws DataError unless the parts of every batch are equal.
  Order shared_by(int64_t replicas) const;

  /// Returns this order for a run that changes to it from `before` at `step`. The epoch that `before` has begun goes on
  /// with the samples that it has not drawn, but for the last ones that fill no minibatch; if they fill none at all,
  /// the next epoch begins. Throws DataError unless both are training orders of the same seed and buckets, and `step`
  /// is one of `before`.
  Order after(const Order& before, int64_t step) const;

  /// Returns one more than the greatest sample; a split that is read in this order has at least so many samples.
  int64_t sample_end() const { return sample_end_; }
  /// Return the steps of an epoch, all or of one bucket; the buckets; the rows of a bucket's batches; and the samples
  /// of an epoch that are in no batch.
  int64_t steps_per_epoch() const { return whole_.steps; }
  int64_t steps_of(size_t bucket) const { return whole_.parts.at(bucket).steps; }
  size_t bucket_count() const { return whole_.parts.size(); }
  int64_t minibatch_of(size_t bucket) const { return whole_.parts.at(bucket).minibatch; }
  int64_t left_out() const;
  /// Return where this order begins: the step; its epoch; the samples of that epoch that orders before have drawn, 0 at
  /// its begin; and the steps in the rest of it, 0 at its begin.
  int64_t first_step() const { return first_step_; }
  int64_t first_epoch() const { return first_epoch_; }
  int64_t drawn_before() const;
  int64_t rest_steps() const;
  /// Returns the seed of the permutations; 0 in evaluation.
  uint64_t seed() const { return seed_; }

  /// Return facts of a batch: its epoch, its bucket, its rows, and the weight of a row that is not padding.
  int64_t epoch(int64_t step) const { return place(step).epoch; }
  size_t bucket(int64_t step) const { return place(step).bucket; }
  int64_t minibatch(int64_t step) const { return whole_.parts[bucket(step)].minibatch; }
  float weight(int64_t step) const { return whole_.parts[bucket(step)].weight; }

  /// Returns row `row` of the batch of `step`, 0 <= row < minibatch, in O(1).
  OrderRow row(int64_t step, int64_t row) const;

 private:
  // The batches of one bucket in an epoch. They are drawn from the bucket's samples and from those that the bucket
  // before carries to it.
  struct Part {
    int64_t count = 0, carried = 0;                    // samples of the bucket, and those carried from the one before
    int64_t minibatch = 0, steps = 0, first_step = 0;  // steps of the bucket in an epoch; steps of those before
    float weight = 1;
    std::shared_ptr<const std::vector<int64_t>> samples = nullptr;

    int64_t rows() const { return count + carried; }
  };
  // The batches of an epoch.
  struct Batches {
    std::vector<Part> parts = {};  // one for each bucket
    int64_t steps = 0;

    void share(int64_t replicas);
    // Counts the steps of training, and the samples that each bucket carries to the next one.
    void count_steps();
    int64_t fill_from(size_t largest);
    // Return the samples of a bucket in an epoch that are in none of its batches: those that the next bucket has, which
    // stand behind the batches, and behind these those that no bucket has.
    int64_t handed_on(size_t bucket) const;
    int64_t left_out(size_t bucket) const;
  };
  struct Rest;
  // Tells the epoch and the bucket of a batch, and the position of its first row in the order of that bucket.
  struct Place {
    int64_t epoch;
    size_t bucket;
    int64_t position;
  };
  Place place(int64_t step) const;
  Place place_in(const Batches& batches, int64_t epoch, int64_t step) const;
  const Batches& batches_of(int64_t epoch) const;
  int64_t sample_at(size_t bucket, int64_t epoch, int64_t position) const;
  int64_t own_sample(size_t bucket, int64_t epoch, int64_t number) const;
  std::vector<std::vector<int64_t>> first_rows_from(int64_t step) const;
  static Order of(std::vector<OrderBucket> buckets);

  bool shuffled_ = false;
  uint64_t seed_ = 0;
  int64_t count_ = 0, sample_end_ = 0;
  int64_t first_step_ = 0, first_epoch_ = 0;
  Batches whole_ = {};                                   // of a whole epoch
  std::shared_ptr<const Rest> rest_;                     // of the first epoch, if another order began it
  std::shared_ptr<const std::vector<int64_t>> members_;  // null: sample i is itself
};

/// The rest of an epoch that another order began. The samples of each bucket are those that are left of it there.
struct Order::Rest {
  Order before;
  std::vector<std::vector<int64_t>> first_rows;  // position in `before` of each batch not drawn, for each bucket
  int64_t drawn = 0;                             // samples of the epoch drawn before
  Batches batches = {};
};

}  // namespace kb
