#include "data/order.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>
#include <vector>

#include "tests/data/files.h"

namespace kb::order_test {

namespace {

using kb::Order;
using kb::Permutation;

std::vector<int64_t> image_of(const Permutation& permutation, int64_t count) {
  std::vector<int64_t> out(count);
  for (int64_t i = 0; i < count; ++i) out[i] = permutation(i);
  return out;
}

BOOST_AUTO_TEST_SUITE(data_order)

BOOST_AUTO_TEST_CASE(permutation_is_a_bijection) {
  std::vector<int64_t> counts = {1000, 1023, 1024, 1025, 20000, 60000, 65536, 65537, 100003};
  for (int64_t count = 1; count <= 300; ++count) counts.push_back(count);
  for (const int64_t count : counts) {
    for (const uint64_t seed : {0u, 1u, 12345u}) {
      std::vector<bool> seen(count);
      for (const int64_t sample : image_of(Permutation(seed, 3, count), count)) {
        BOOST_REQUIRE(sample >= 0 && sample < count);
        BOOST_REQUIRE(!seen[sample]);
        seen[sample] = true;
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(huge_counts_stay_in_range) {
  const int64_t count = (int64_t{1} << 40) + 12345;
  const Permutation permutation(7, 0, count);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 2000; ++i) seen.insert(permutation(i));
  BOOST_TEST(seen.size() == 2000u);
  BOOST_TEST(*seen.begin() >= 0);
  BOOST_TEST(*seen.rbegin() < count);
}

BOOST_AUTO_TEST_CASE(permutation_depends_on_seed_and_epoch_alone) {
  const auto base = image_of(Permutation(1, 0, 1000), 1000);
  BOOST_TEST((base == image_of(Permutation(1, 0, 1000), 1000)));
  for (const auto& other : {image_of(Permutation(1, 1, 1000), 1000), image_of(Permutation(2, 0, 1000), 1000)}) {
    int64_t equal = 0;
    for (int64_t i = 0; i < 1000; ++i) equal += base[i] == other[i];
    BOOST_TEST(equal < 10);  // 1 is expected of two random permutations
  }
}

// The chi-squared statistic of (position, sample) over many epochs, times (count - 1) / count since an epoch has each
// sample and each position once, has (count - 1)^2 degrees of freedom and must lie within 5 standard deviations of its
// mean.
BOOST_AUTO_TEST_CASE(every_sample_visits_every_position_equally) {
  for (const int64_t count : {2, 3, 5, 8, 10, 17, 64, 100}) {
    const int64_t epochs = 400 * count;
    std::vector<double> hits(count * count);
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      const Permutation permutation(1, epoch, count);
      for (int64_t i = 0; i < count; ++i) hits[i * count + permutation(i)] += 1;
    }
    double chi2 = 0;
    for (const double h : hits) chi2 += (h - 400) * (h - 400) / 400;
    chi2 *= static_cast<double>(count - 1) / static_cast<double>(count);
    const double freedom = static_cast<double>((count - 1) * (count - 1));
    BOOST_TEST(std::abs(chi2 - freedom) < 5 * std::sqrt(2 * freedom), "count " << count << ": chi2 " << chi2);
  }
}

// Looks at two samples and two positions at once: few samples have permutations of equal probability, too.
BOOST_AUTO_TEST_CASE(two_samples_visit_two_positions_equally) {
  for (const int64_t count : {5, 6, 7, 8}) {
    const int64_t cells = count * (count - 1), epochs = 300 * cells;
    for (const int64_t other : {1, 2, 4}) {
      std::vector<double> hits(count * count);
      for (int64_t epoch = 0; epoch < epochs; ++epoch) {
        const Permutation permutation(11, epoch, count);
        hits[permutation(0) * count + permutation(other)] += 1;
      }
      double chi2 = 0;
      for (int64_t cell = 0; cell < count * count; ++cell)
        if (cell / count != cell % count) chi2 += (hits[cell] - 300) * (hits[cell] - 300) / 300;
      const double freedom = static_cast<double>(cells - 1);
      BOOST_TEST(std::abs(chi2 - freedom) < 5 * std::sqrt(2 * freedom), "count " << count << ": chi2 " << chi2);
    }
  }
}

// Neighbours in the data are not neighbours in the epoch: |p(i+1) - p(i)| has mean count / 3 in a random permutation.
BOOST_AUTO_TEST_CASE(neighbours_are_scattered) {
  const int64_t count = 60000;
  const auto p = image_of(Permutation(5, 2, count), count);
  double sum = 0;
  for (int64_t i = 1; i < count; ++i) sum += std::abs(static_cast<double>(p[i] - p[i - 1]));
  BOOST_TEST(std::abs(sum / (count - 1) / count - 1.0 / 3) < 0.005);
}

BOOST_AUTO_TEST_CASE(training_draws_each_sample_at_most_once_an_epoch) {
  const int64_t count = 1003, minibatch = 64;
  const Order order = Order::training(9, count, minibatch);
  BOOST_TEST(order.steps_per_epoch() == 15);
  std::set<int64_t> last_dropped;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<int64_t> seen;
    for (int64_t s = 0; s < 15; ++s) {
      const int64_t step = epoch * 15 + s;
      BOOST_TEST(order.epoch(step) == epoch);
      for (int64_t row = 0; row < minibatch; ++row) {
        const kb::OrderRow r = order.row(step, row);
        BOOST_TEST(r.weight == 1.0f / 64);
        BOOST_TEST(r.sample == Permutation(9, epoch, count)(s * minibatch + row));
        BOOST_TEST(seen.insert(r.sample).second);
      }
    }
    std::set<int64_t> dropped;
    for (int64_t i = 0; i < count; ++i) {
      if (!seen.contains(i)) dropped.insert(i);
    }
    BOOST_TEST(dropped.size() == 43u);
    BOOST_TEST((dropped != last_dropped));
    last_dropped = dropped;
  }
}

BOOST_AUTO_TEST_CASE(evaluation_counts_each_sample_once) {
  for (const int64_t count : {1, 7, 64, 65, 1000}) {
    for (const int64_t minibatch : {1, 7, 64, 2000}) {
      const Order order = Order::evaluation(count, minibatch);
      BOOST_TEST(order.steps_per_epoch() == (count + minibatch - 1) / minibatch);
      std::vector<double> weight(count);
      int64_t next = 0;
      for (int64_t step = 0; step < order.steps_per_epoch(); ++step) {
        for (int64_t row = 0; row < minibatch; ++row, ++next) {
          const kb::OrderRow expected = next < count ? kb::OrderRow{next, 1} : kb::OrderRow{count - 1, 0};
          BOOST_REQUIRE((order.row(step, row) == expected));
          weight[order.row(step, row).sample] += order.row(step, row).weight;
        }
      }
      BOOST_TEST((weight == std::vector<double>(count, 1.0)));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_split_of_a_minibatch_does_not_matter) {
  const Order order = Order::training(3, 500, 32), again = Order::training(3, 500, 32);
  BOOST_TEST((order.row(1000003, 31) == again.row(1000003, 31)));
  BOOST_TEST(order.row(1000003, 31).sample == Permutation(3, 1000003 / 15, 500)(1000003 % 15 * 32 + 31));
}

BOOST_AUTO_TEST_CASE(an_order_of_members_is_that_of_their_positions) {
  const auto members = std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{2, 3, 5, 7, 11, 13, 17});
  for (const Order& plain : {Order::training(3, 7, 2), Order::evaluation(7, 3)}) {
    const Order order = plain.within(members);
    BOOST_TEST(order.steps_per_epoch() == plain.steps_per_epoch());
    for (int64_t step = 0; step < plain.steps_per_epoch(); ++step)
      for (int64_t row = 0; row < plain.minibatch(0); ++row) {
        const kb::OrderRow expected = plain.row(step, row);
        BOOST_TEST(order.row(step, row).sample == (*members)[static_cast<size_t>(expected.sample)]);
        BOOST_TEST(order.row(step, row).weight == expected.weight);
      }
  }
}

BOOST_AUTO_TEST_CASE(an_order_may_begin_within_a_run) {
  const Order early = Order::training(3, 100, 10), late = Order::training(3, 100, 30).after(early, 20);
  BOOST_TEST(late.epoch(20) == 2);
  BOOST_TEST(late.epoch(22) == 2);
  BOOST_TEST(late.epoch(23) == 3);
  for (int64_t epoch = 2; epoch < 6; ++epoch)  // an epoch has one permutation for all minibatch sizes
    for (int64_t position = 0; position < 90; ++position)
      BOOST_TEST(late.row(20 + (epoch - 2) * 3 + position / 30, position % 30).sample ==
                 early.row(epoch * 10 + position / 10, position % 10).sample);
  BOOST_TEST(late.weight(20) == 1.0f / 30);
}

BOOST_AUTO_TEST_CASE(an_order_may_begin_within_an_epoch) {
  const Order order = Order::training(3, 100, 30).after(Order::training(3, 100, 20), 11);
  BOOST_TEST(order.first_epoch() == 2);
  BOOST_TEST(order.drawn_before() == 20);
  BOOST_TEST(order.rest_steps() == 2);
  for (const int64_t step : {11, 12}) {
    BOOST_TEST(order.epoch(step) == 2);
    for (int64_t row = 0; row < 30; ++row)
      BOOST_TEST(order.row(step, row).sample == Permutation(3, 2, 100)(20 + (step - 11) * 30 + row));
  }
  for (int64_t step = 13; step < 24; ++step) {
    const int64_t epoch = 3 + (step - 13) / 3;
    BOOST_TEST(order.epoch(step) == epoch);
    BOOST_TEST(order.row(step, 11).sample == Permutation(3, epoch, 100)((step - 13) % 3 * 30 + 11));
  }
  // The rest of epoch 2, 20 samples, holds no minibatch.
  const Order none = Order::training(3, 100, 30).after(Order::training(3, 100, 20), 14);
  BOOST_TEST(none.first_epoch() == 3);
  BOOST_TEST(none.rest_steps() == 0);
  BOOST_TEST(none.row(14, 0).sample == Permutation(3, 3, 100)(0));
}

BOOST_AUTO_TEST_CASE(error_texts) {
  const auto text = [](auto action) { return kb::test::data_error({}, action); };
  BOOST_TEST(text([] { Order::training(1, 100, 128); }) ==
             "sample order: the minibatch is larger than the training set\n"
             "  expected: at most 100 rows\n"
             "  got:      128\n"
             "  hint:     an epoch draws each sample at most once and drops the incomplete batch: lower the minibatch");
  BOOST_TEST(text([] {
               Order::training(1, {{8, 20, nullptr}, {2, 15, nullptr}});
             }).find("  expected: at most 10 rows\n  got:      20, 15 in its buckets\n") != std::string::npos);
  BOOST_TEST(text([] { Order::training(1, 100, 0); }) ==
             "sample order: no rows in a minibatch to order\n  expected: at least 1\n  got:      0");
  BOOST_TEST(text([] { Order::evaluation(0, 8); }) ==
             "sample order: no samples to order\n  expected: at least 1\n  got:      0");
  BOOST_TEST(text([] { Permutation(1, 0, -3); }) ==
             "sample order: no samples to order\n  expected: at least 1\n  got:      -3");
  BOOST_TEST(
      text([] {
        Order::evaluation(2, 2).within(std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{3, -1}));
      }) == "sample order: a member is no sample\n  expected: numbers >= 0\n  got:      -1");
  BOOST_TEST(text([] { Order::evaluation(7, 2).within(std::make_shared<const std::vector<int64_t>>(3)); }) ==
             "sample order: its members are not as many as its samples\n  expected: 7\n  got:      3");
  BOOST_TEST(text([] { Order::evaluation(7, 2).within(std::make_shared<const std::vector<int64_t>>(8)); }) ==
             "sample order: its members are not as many as its samples\n  expected: 7\n  got:      8");
  BOOST_TEST(text([] { Order::training(1, 12, 6).shared_by(0); }).find("expected: at least 1") != std::string::npos);
  BOOST_TEST(text([] { Order::training(1, 12, 6).shared_by(4); }) ==
             "sample order: replicas do not share a batch\n  expected: a multiple of 4 rows\n  got:      6");
  BOOST_TEST(text([] { Order::training(1, 7, 3).after(Order::training(1, 7, 2), -1); }) ==
             "sample order: it begins before the order that it goes on\n  expected: a step >= 0\n  got:      -1");
  BOOST_TEST(text([] { Order::training(1, 8, 3).after(Order::training(1, 7, 2), 1); }) ==
             "sample order: it goes on an order of other samples\n  expected: 7 samples in 1 buckets\n"
             "  got:      8 in 1\n  hint:     both must be training orders of one seed");
  const Order before = Order::training(0, 7, 2);  // an evaluation has the seed 0, too
  BOOST_CHECK_THROW(Order::evaluation(7, 2).after(before, 1), DataError);
  BOOST_CHECK_THROW(before.after(Order::evaluation(7, 2), 1), DataError);
  BOOST_CHECK_THROW(before.after(Order::training(2, 7, 2), 1), DataError);
  BOOST_CHECK_THROW(Order::training(0, std::vector<OrderBucket>{{3, 2}, {4, 2}}).after(before, 1), DataError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::order_test
