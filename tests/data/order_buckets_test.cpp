// Orders of samples in buckets of different lengths.
#include <boost/test/unit_test.hpp>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "data/order.h"

namespace kb::order_buckets_test {

BOOST_AUTO_TEST_SUITE(order_buckets)

namespace {

std::shared_ptr<const std::vector<int64_t>> numbers(int64_t first, int64_t count) {
  std::vector<int64_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return std::make_shared<const std::vector<int64_t>>(all);
}

// Three buckets, whose samples begin at 0, 13 and 17, with minibatches of 5, 8 and 4 times `factor`.
Order order_of_buckets(int64_t factor) {
  return Order::training(
      9, {{13, 5 * factor, numbers(0, 13)}, {4, 8 * factor, numbers(13, 4)}, {30, 4 * factor, numbers(17, 30)}});
}

// Makes an order whose first bucket is the largest: samples of the buckets begin at 0, 30 and 34.
Order order_of_a_large_bucket(int64_t factor) {
  return Order::training(
      9, {{30, 4 * factor, numbers(0, 30)}, {4, 8 * factor, numbers(30, 4)}, {13, 5 * factor, numbers(34, 13)}});
}

}  // namespace

// Each epoch draws every sample at most once, and the samples of a bucket that fill no batch with those of the next.
BOOST_AUTO_TEST_CASE(buckets_share_an_epoch) {
  // 13 samples in steps of 5 carry 3; 3 + 4 in steps of 8 carry 7; 7 + 30 in steps of 4 leave 1.
  const Order order = order_of_buckets(1);
  BOOST_TEST(order.steps_of(0) == 2);
  BOOST_TEST(order.steps_of(1) == 0);
  BOOST_TEST(order.steps_of(2) == 9);
  BOOST_TEST(order.left_out() == 1);
  std::set<std::vector<size_t>> sequences;
  std::set<int64_t> left_out;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    std::set<int64_t> seen;
    std::vector<size_t> buckets;
    for (int64_t step = epoch * 11; step < (epoch + 1) * 11; ++step) {
      BOOST_TEST(order.epoch(step) == epoch);
      const size_t bucket = order.bucket(step);
      buckets.push_back(bucket);
      BOOST_TEST(order.weight(step) == 1.0f / static_cast<float>(order.minibatch(step)));
      for (int64_t row = 0; row < order.minibatch(step); ++row) {
        const int64_t sample = order.row(step, row).sample;
        BOOST_TEST((bucket == 0 ? sample < 13 : sample < 47));
        BOOST_TEST(seen.insert(sample).second);
      }
    }
    BOOST_TEST(std::count(buckets.begin(), buckets.end(), 0u) == 2);
    BOOST_TEST(seen.size() == 46u);
    for (int64_t sample = 0; sample < 47; ++sample)
      if (!seen.contains(sample)) left_out.insert(sample);
    sequences.insert(buckets);
  }
  BOOST_TEST(sequences.size() > 10u);  // the steps of an epoch have an order of their own
  BOOST_TEST(left_out.size() > 5u);
}

// The steps of each bucket, and the samples that no batch has, where buckets lack samples for batches of their own.
BOOST_AUTO_TEST_CASE(steps_of_small_buckets) {
  struct Row {
    std::vector<OrderBucket> buckets;
    std::vector<int64_t> steps;
    int64_t left_out;
  };
  const Row rows[] = {{{{5, 4}, {1, 6}, {3, 3}}, {0, 1, 1}, 0},     // all that go on to the next make a batch there
                      {{{5, 4}, {1, 64}}, {1, 0}, 2},               // 63 more would be needed
                      {{{1, 1}, {3, 4}}, {0, 1}, 0},                // the first keeps its sample back for the largest
                      {{{20, 4}, {1, 2}, {1, 16}}, {1, 0, 1}, 2}};  // the last takes 14 through the one before it
  for (const Row& row : rows) {
    const Order order = Order::training(1, row.buckets);
    for (size_t bucket = 0; bucket < row.steps.size(); ++bucket)
      BOOST_TEST(order.steps_of(bucket) == row.steps[bucket], "row " << &row - rows << ", bucket " << bucket);
    BOOST_TEST(order.left_out() == row.left_out);
  }
}

BOOST_AUTO_TEST_CASE(replicas_weigh_their_own_rows) {
  for (const Order& order : {Order::training(3, 40, 12), order_of_buckets(4).after(order_of_buckets(2), 3)})
    for (int64_t step = order.first_step(); step < order.first_step() + 9; ++step)
      BOOST_TEST(order.shared_by(2).row(step, 1).weight == 2 * order.row(step, 1).weight);
}

// Few samples may be longer than all others: buckets that pad least give them one of their own.
BOOST_AUTO_TEST_CASE(the_longest_samples_are_drawn_though_they_fill_no_batch) {
  const std::vector<std::vector<int64_t>> counts = {{100, 3}, {100, 0, 3}, {100, 2, 3}, {9, 9, 1}, {0, 100, 3, 0}};
  for (const std::vector<int64_t>& bucket_counts : counts) {
    std::vector<OrderBucket> buckets;
    int64_t all = 0;
    for (const int64_t count : bucket_counts) {
      buckets.push_back({count, 16, numbers(all, count)});
      all += count;
    }
    const Order order = Order::training(4, buckets);
    BOOST_TEST(order.steps_per_epoch() == all / 16);
    BOOST_TEST(order.left_out() < 16);
    std::vector<int> drawn(static_cast<size_t>(all));
    constexpr int64_t kEpochs = 40;
    for (int64_t step = 0; step < kEpochs * order.steps_per_epoch(); ++step)
      for (int64_t row = 0; row < 16; ++row) ++drawn[static_cast<size_t>(order.row(step, row).sample)];
    const auto [least, most] = std::ranges::minmax(drawn);
    BOOST_TEST(least > kEpochs / 4, "of " << bucket_counts.size() << " buckets: " << least);
    BOOST_TEST(most <= kEpochs);
  }
}

// Samples that fill no batch belong to the largest bucket: an epoch has each of the few long samples, and each of the
// others as often.
BOOST_AUTO_TEST_CASE(no_length_is_drawn_less_often) {
  for (const std::vector<int64_t>& minibatches : std::vector<std::vector<int64_t>>{{16, 16, 16, 16}, {24, 16, 12, 8}}) {
    std::vector<OrderBucket> buckets;
    int64_t all = 0;
    for (const int64_t count : {30, 300, 21, 9}) {
      buckets.push_back({count, minibatches[buckets.size()], numbers(all, count)});
      all += count;
    }
    const Order order = Order::training(4, buckets);
    BOOST_TEST(order.left_out() > 0);
    BOOST_TEST(order.left_out() < minibatches[1]);
    std::vector<int> drawn(static_cast<size_t>(all));
    constexpr int64_t kEpochs = 200;
    for (int64_t step = 0; step < kEpochs * order.steps_per_epoch(); ++step)
      for (int64_t row = 0; row < order.minibatch(step); ++row)
        ++drawn[static_cast<size_t>(order.row(step, row).sample)];
    for (int64_t sample = 330; sample < all; ++sample) BOOST_TEST(drawn[static_cast<size_t>(sample)] == kEpochs);
    BOOST_TEST(std::ranges::min(drawn) > 0.8 * kEpochs);
  }
}

// An epoch in which the minibatch grows, once or twice and at any step, draws every sample at most once, each in its
// bucket or a later one, and leaves out fewer than a minibatch.
BOOST_AUTO_TEST_CASE(an_epoch_of_buckets_goes_on_with_larger_minibatches) {
  const auto goes_on = [](Order (*order_of)(int64_t factor), int64_t first_count, size_t widest) {
    const Order small = order_of(1), twice = order_of(2), four = order_of(4);
    const int64_t begin = 2 * small.steps_per_epoch();
    for (int64_t first = 0; first <= small.steps_per_epoch(); ++first)
      for (int64_t second = first; second <= first + 3; ++second) {
        const Order middle = twice.after(small, begin + first), last = four.after(middle, begin + second);
        const auto at = [&](int64_t step) -> const Order& {
          return step < begin + first ? small : step < begin + second ? middle : last;
        };
        int64_t step = begin;
        for (int64_t epoch = 2; epoch < 5; ++epoch) {
          std::set<int64_t> seen;
          int64_t before = 0;
          for (; at(step).epoch(step) == epoch; ++step) {
            const Order& order = at(step);
            const size_t bucket = order.bucket(step);
            if (step == begin + second) before = std::ssize(seen);
            BOOST_TEST(order.minibatch(step) == order.minibatch_of(bucket));
            for (int64_t row = 0; row < order.minibatch(step); ++row) {
              const OrderRow drawn = order.row(step, row);
              BOOST_TEST((bucket == 0 ? drawn.sample < first_count : drawn.sample < 47));
              BOOST_TEST(drawn.weight == 1.0f / static_cast<float>(order.minibatch(step)));
              BOOST_TEST(seen.insert(drawn.sample).second);
            }
          }
          BOOST_TEST(std::ssize(seen) > 47 - at(step).minibatch_of(widest));
          if (epoch == last.first_epoch() && last.rest_steps() > 0) BOOST_TEST(last.drawn_before() == before);
        }
      }
  };
  goes_on(order_of_buckets, 13, 2);
  goes_on(order_of_a_large_bucket, 30, 1);
}

BOOST_AUTO_TEST_CASE(an_evaluation_of_buckets_has_every_sample_once) {
  const auto even = std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{0, 2, 4});
  const auto odd = std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{1, 3, 5, 7});
  const Order order = Order::evaluation({{3, 2, even}, {0, 2, nullptr}, {4, 3, odd}});
  BOOST_TEST(order.steps_per_epoch() == 4);
  std::vector<int64_t> samples;
  for (int64_t step = 0; step < 4; ++step)
    for (int64_t row = 0; row < order.minibatch(step); ++row)
      if (const OrderRow at = order.row(step, row); at.weight == 1) samples.push_back(at.sample);
  BOOST_TEST(samples == (std::vector<int64_t>{0, 2, 4, 1, 3, 5, 7}));
}

BOOST_AUTO_TEST_CASE(one_bucket_of_all_samples_is_the_plain_order) {
  const Order plain = Order::training(5, 40, 7), one = Order::training(5, {{40, 7, nullptr}});
  for (int64_t step = 0; step < 10; ++step)
    for (int64_t row = 0; row < 7; ++row) BOOST_TEST((plain.row(step, row) == one.row(step, row)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::order_buckets_test
