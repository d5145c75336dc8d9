// Orders of gradients: staleness against its theory, bounds, and pieces.
#include "recipes/orders/gradient_order.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/error.h"
#include "tests/recipes/orders/orders.h"
#include "tests/support/says.h"

namespace kb::gradient_order_test {
namespace {

using test::says, test::order_plan_of, test::records_of, test::async_policy, test::stale_policy, test::backup_policy;

constexpr int64_t kGradients = 100'000;

// Counts of each staleness among the gradients of an order.
struct Staleness {
  std::vector<int64_t> counts;
  int64_t sum = 0;

  void add(int64_t staleness) {
    if (staleness >= std::ssize(counts)) counts.resize(static_cast<size_t>(staleness) + 1);
    ++counts[static_cast<size_t>(staleness)];
    sum += staleness;
  }
  double variance() const {
    const double mean = static_cast<double>(sum) / kGradients;
    double squares = 0;
    for (size_t j = 0; j < counts.size(); ++j)
      squares += static_cast<double>(counts[j]) * (static_cast<double>(j) - mean) * (static_cast<double>(j) - mean);
    return squares / kGradients;
  }
};

// Returns the number of updates since the gradients under way read their parameters, summed over workers.
int64_t under_way(const GradientOrder& order) {
  int64_t sum = 0;
  for (const OrderWorker& worker : order.state().workers) sum += order.state().version - worker.read;
  return sum;
}

// Compares counts with the geometric distribution of mean k - 1 by their chi-square statistic: its mean is the number
// of classes less one, its standard deviation the root of twice that. Values in the tail are one class.
void check_geometric(const Staleness& staleness, int64_t k) {
  const double stay = 1 - 1 / static_cast<double>(k);
  double statistic = 0, tail = kGradients, tail_count = kGradients;
  int64_t classes = 1;
  for (size_t j = 0; j < staleness.counts.size() && tail > 400; ++j, ++classes) {
    const double expected = tail / static_cast<double>(k), count = static_cast<double>(staleness.counts[j]);
    statistic += (count - expected) * (count - expected) / expected;
    tail *= stay;
    tail_count -= count;
  }
  statistic += (tail_count - tail) * (tail_count - tail) / tail;
  const auto freedom = static_cast<double>(classes - 1);
  BOOST_TEST(classes > 3 * k);
  BOOST_TEST(statistic < freedom + 4 * std::sqrt(2 * freedom));
}

// A worker's gradients in turn.
using Begins = std::vector<std::vector<int64_t>>;

// Returns when each gradient begins by the bound alone, without events: when the worker has ended the one before and
// every worker has ended the one `bound` + 1 before.
Begins begins_by_recursion(const OrderPlan& plan, size_t rounds) {
  const auto workers = static_cast<size_t>(plan.policy.workers), ahead = static_cast<size_t>(plan.policy.bound) + 1;
  Begins begins(rounds, std::vector<int64_t>(workers)), ends = begins;
  for (size_t round = 0; round < rounds; ++round)
    for (size_t w = 0; w < workers; ++w) {
      int64_t begin = round == 0 ? 0 : ends[round - 1][w];
      if (round >= ahead)
        begin = std::max(begin, *std::max_element(ends[round - ahead].begin(), ends[round - ahead].end()));
      begins[round][w] = begin;
      ends[round][w] = begin + plan.times.ns(plan.seed, static_cast<int64_t>(w), static_cast<int64_t>(round));
    }
  return begins;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gradient_order)

// The gradients of a worker that are applied to versions v1 < v2 < ... < vm have read 0, v1 + 1, v2 + 1, ...: the sum
// of their staleness is vm - (m - 1), which is the version that its next one has read, less m. Over k workers with N
// gradients in all that is (k - 1) N less the sum of N - (version read) over the gradients under way.
BOOST_AUTO_TEST_CASE(staleness_of_asynchronous_training) {
  for (const int64_t k : {4, 16})
    for (const std::string& times : test::every_times()) BOOST_TEST_CONTEXT(times << ", " << k << " workers") {
        GradientOrder order(order_plan_of(async_policy(k), times));
        Staleness staleness;
        bool is_constant = true;
        for (int64_t number = 0; number < kGradients; ++number) {
          const GradientRecord record = order.next().value();
          if (record.number != number || record.applied_to != number) BOOST_FAIL("gradient " << number);
          if (record.count > 0) is_constant = is_constant && record.staleness() == k - 1;
          staleness.add(record.staleness());
        }
        BOOST_TEST(staleness.sum == (k - 1) * kGradients - under_way(order));
        BOOST_TEST(is_constant == (times == "constant"));
        if (times != "exponential") continue;
        BOOST_TEST(staleness.variance() == static_cast<double>(k * (k - 1)), boost::test_tools::tolerance(0.05));
        check_geometric(staleness, k);
      }
}

BOOST_AUTO_TEST_CASE(nobody_is_more_than_the_bound_ahead) {
  for (const std::string& times : test::every_times())
    for (const int64_t bound : {0, 1, 3}) BOOST_TEST_CONTEXT(times << ", bound " << bound) {
        const OrderPlan plan = order_plan_of(stale_policy(5, bound), times);
        const Begins begins = begins_by_recursion(plan, 400);
        GradientOrder order(plan);
        std::vector<int64_t> done(5);
        int64_t most_ahead = 0;
        for (const GradientRecord& record : records_of(order, 1500)) {
          const auto worker = static_cast<size_t>(record.worker);
          BOOST_TEST(record.begin_ns == begins[static_cast<size_t>(record.count)][worker]);
          BOOST_TEST(record.count == done[worker]++);
          const int64_t least = *std::min_element(done.begin(), done.end());
          most_ahead = std::max(most_ahead, done[worker] - least);
        }
        BOOST_TEST(most_ahead <= bound + 1);  // the gradient that has just ended counts
        if (times != "constant") BOOST_TEST(most_ahead == bound + 1);
      }
}

BOOST_AUTO_TEST_CASE(bound_0_is_lock_step) {
  for (const std::string& times : test::every_times())
    for (const GradientRecord& record : records_of(order_plan_of(stale_policy(4, 0), times), 400)) {
      BOOST_TEST(record.count == record.number / 4);
      BOOST_TEST(record.read == record.count * 4);
      BOOST_TEST(record.applied_to.value() == record.number);
    }
}

BOOST_AUTO_TEST_CASE(a_large_bound_is_asynchronous) {
  for (const std::string& times : test::every_times())
    BOOST_CHECK(records_of(order_plan_of(stale_policy(4, 1000), times), 3000) ==
                records_of(order_plan_of(async_policy(4), times), 3000));
}

BOOST_AUTO_TEST_CASE(backup_without_backups_is_synchronous) {
  for (const GradientRecord& record :
       records_of(order_plan_of(backup_policy(4, 0, LateGradients::abandon), "exponential"), 400)) {
    BOOST_TEST(record.staleness() == 0);
    BOOST_TEST(record.read == record.number / 4);
    BOOST_TEST(record.piece / 4 == record.read);
  }
}

BOOST_AUTO_TEST_CASE(each_worker_computes_one_gradient_at_a_time) {
  for (const OrderPolicy& policy : test::every_policy(4))
    for (const std::string& times : test::every_times()) {
      const OrderPlan plan = order_plan_of(policy, times);
      BOOST_TEST_CONTEXT(test::name_of(plan)) {
        std::vector<GradientRecord> last(static_cast<size_t>(policy.all_workers()));
        int64_t now = 0;
        for (const GradientRecord& record : records_of(plan, 1000)) {
          GradientRecord& before = last[static_cast<size_t>(record.worker)];
          const int64_t time = record.end_ns - record.begin_ns,
                        drawn = plan.times.ns(plan.seed, record.worker, record.count);
          const bool in_turn = record.begin_ns >= before.end_ns && record.count == before.count + (before.end_ns > 0);
          const bool in_time = record.fate == GradientFate::abandoned ? time <= drawn : time == drawn;
          if (!in_turn || !in_time || record.end_ns < now) BOOST_FAIL("gradient " << record.number);
          now = record.end_ns;
          before = record;
        }
      }
    }
}

// At the end of a run each piece is applied once. In its course, every piece that was drawn is applied, under way, or
// given back.
BOOST_AUTO_TEST_CASE(each_piece_is_applied_once) {
  constexpr int64_t kPieces = 1200;
  for (const OrderPolicy& policy : test::every_policy(4))
    for (const std::string& times : test::every_times())
      for (const int64_t pieces : {kPieces, int64_t{0}}) {
        const OrderPlan plan = order_plan_of(policy, times, pieces);
        BOOST_TEST_CONTEXT(test::name_of(plan) << ", " << pieces << " pieces") {
          GradientOrder order(plan);
          std::vector<int64_t> applied;
          for (const GradientRecord& record : records_of(order, pieces > 0 ? 4 * kPieces : kPieces))
            if (record.applied_to) applied.push_back(record.piece);
          if (pieces > 0) BOOST_TEST(std::ssize(applied) == kPieces);
          applied.insert(applied.end(), order.state().returned.begin(), order.state().returned.end());
          for (const OrderWorker& worker : order.state().workers)
            if (worker.computes) applied.push_back(worker.piece);
          std::sort(applied.begin(), applied.end());
          BOOST_TEST(std::ssize(applied) == order.state().drawn);
          for (int64_t piece = 0; piece < std::ssize(applied); ++piece)
            if (applied[static_cast<size_t>(piece)] != piece) BOOST_FAIL("piece " << piece);
        }
      }
}

BOOST_AUTO_TEST_CASE(rules_go_on_from_any_place) {
  for (const OrderPolicy& policy : test::every_policy(3))
    for (const int64_t pieces : {0, 60}) {
      const OrderPlan plan = order_plan_of(policy, "exponential", pieces);
      const std::vector<GradientRecord> whole = records_of(plan, 200);
      GradientOrder order(plan);
      for (size_t at = 0; at <= 70 && at <= whole.size(); ++at) BOOST_TEST_CONTEXT(test::name_of(plan) << ", " << at) {
          OrderRules rest(policy, pieces, order.state());
          BOOST_TEST(rest.started().empty());
          for (size_t i = at; i < whole.size(); ++i)
            BOOST_CHECK(rest.decide(whole[i].worker, whole[i].end_ns) == whole[i]);
          BOOST_TEST(order.next().has_value() == (at < whole.size()));
        }
    }
}

BOOST_AUTO_TEST_CASE(plans_that_cannot_be_are_refused) {
  const auto refused = [](const OrderPolicy& policy, int64_t pieces, const char* name, const char* expected) {
    BOOST_CHECK_EXCEPTION(GradientOrder(order_plan_of(policy, "constant", pieces)), Error,
                          says("order of gradients", name, expected));
  };
  refused(async_policy(0), 0, "workers", "a whole number in [1, 1048576]");
  refused(stale_policy(4, -1), 0, "bound", "a whole number in [0, 2147483647]");
  refused({.kind = OrderKind::async, .workers = 4, .bound = 1}, 0, "bound", "a whole number in [0, 0]");
  refused({.kind = OrderKind::stale, .workers = 4, .backups = 1}, 0, "backups", "a whole number in [0, 0]");
  refused(backup_policy(4, 1, LateGradients::finish), 6, "pieces", "a multiple of the 4 gradients of an update");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::gradient_order_test
