// Backup workers: how long a step takes, against the theory of order statistics and a simulation of its own.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "tests/recipes/orders/orders.h"

namespace kb::backup_order_test {
namespace {

using test::order_plan_of, test::backup_policy;

constexpr int64_t kSteps = 20'000;
const auto kTwoPercent = boost::test_tools::tolerance(0.02);

// Returns the mean seconds of a step of backup workers with exponential times.
double mean_step(int64_t workers, int64_t backups, LateGradients late) {
  GradientOrder order(order_plan_of(backup_policy(workers, backups, late), "exponential"));
  while (order.state().version < kSteps) order.next();
  return static_cast<double>(order.state().now_ns) * 1e-9 / kSteps;
}

double harmonic(int64_t n) {
  double sum = 0;
  for (int64_t i = 1; i <= n; ++i) sum += 1 / static_cast<double>(i);
  return sum;
}

// Simulates steps in which late gradients finish, naively: in every step each worker has the time at which it will have
// a gradient of this step's parameters, for which it ends an old one first.
double naive_mean_step_finishing(size_t workers, size_t backups) {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> draw;
  std::vector<double> old_rest(workers + backups, 0.0);  // rest of a gradient of older parameters
  double total = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    std::vector<double> arrival;
    for (const double rest : old_rest) arrival.push_back(rest + draw(random));
    std::vector<double> sorted = arrival;
    std::sort(sorted.begin(), sorted.end());
    const double length = sorted[workers - 1];
    for (size_t w = 0; w < old_rest.size(); ++w) {
      if (old_rest[w] > length)
        old_rest[w] -= length;
      else
        old_rest[w] = std::max(arrival[w] - length, 0.0);
    }
    total += length;
  }
  return total / kSteps;
}

// Returns the mean step of k workers and one backup whose late gradient finishes. When a step begins, the late worker
// has the rest of a gradient and another one before it: a Gamma(2) time, since the rest of an exponential time is one.
// The step lasts while two or more of the k exponential times and this one have not passed.
double exact_mean_step_finishing(int k) {
  double mean = 0;
  constexpr double kGrid = 1e-3;
  for (double t = kGrid / 2; t < 60; t += kGrid) {
    const double rest = std::exp(-t), late_rest = (1 + t) * rest, all_but_one = std::pow(1 - rest, k - 1);
    const double none = all_but_one * (1 - rest) * (1 - late_rest);
    const double one = all_but_one * (k * rest * (1 - late_rest) + (1 - rest) * late_rest);
    mean += kGrid * (1 - none - one);
  }
  return mean;
}

constexpr auto kApplied = GradientFate::applied, kDropped = GradientFate::dropped, kAbandoned = GradientFate::abandoned;

struct Row {
  int64_t worker, count, read;
  GradientFate fate;
  int64_t begin_s, end_s, piece;
};

void check_order_is(const OrderPlan& plan, const std::vector<Row>& rows) {
  constexpr int64_t kSecond = 1'000'000'000;
  GradientOrder order(plan);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const std::optional<int64_t> applied_to = row.fate == kApplied ? std::optional(row.read) : std::nullopt;
    const GradientRecord expected{
        static_cast<int64_t>(i), row.worker,          row.count, row.read, applied_to, row.fate,
        row.begin_s * kSecond,   row.end_s * kSecond, row.piece};
    BOOST_CHECK_MESSAGE(order.next().value() == expected, "gradient " << i);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(backup_order)

// The k-th of k + b exponential times of mean 1 has the mean H_{k+b} - H_b.
BOOST_AUTO_TEST_CASE(a_step_takes_the_time_of_the_kth_worker) {
  for (const auto& [workers, backups] : std::vector<std::pair<int64_t, int64_t>>{{8, 1}, {4, 2}, {3, 0}})
    BOOST_TEST(mean_step(workers, backups, LateGradients::abandon) == harmonic(workers + backups) - harmonic(backups),
               kTwoPercent);
}

BOOST_AUTO_TEST_CASE(a_step_is_longer_where_late_gradients_finish) {
  const double exact = exact_mean_step_finishing(8);
  BOOST_TEST(exact == 2.03, boost::test_tools::tolerance(0.005));
  BOOST_TEST(naive_mean_step_finishing(8, 1) == exact, kTwoPercent);
  BOOST_TEST(mean_step(8, 1, LateGradients::finish) == exact, kTwoPercent);
  BOOST_TEST(mean_step(4, 2, LateGradients::finish) == naive_mean_step_finishing(4, 2), kTwoPercent);
}

// Worker 1 takes twice, and worker 2 three times as long as worker 0.
BOOST_AUTO_TEST_CASE(a_few_steps_by_hand) {
  OrderPlan plan = order_plan_of(backup_policy(2, 1, LateGradients::abandon), "file");
  plan.times.means_s = {1, 2, 3};
  check_order_is(plan, {{0, 0, 0, kApplied, 0, 1, 0},
                        {1, 0, 0, kApplied, 0, 2, 1},
                        {2, 0, 0, kAbandoned, 0, 2, 2},
                        {0, 1, 1, kApplied, 2, 3, 2},
                        {1, 1, 1, kApplied, 2, 4, 3},
                        {2, 1, 1, kAbandoned, 2, 4, 4}});
  plan.policy.late = LateGradients::finish;
  check_order_is(plan, {{0, 0, 0, kApplied, 0, 1, 0},
                        {1, 0, 0, kApplied, 0, 2, 1},
                        {0, 1, 1, kApplied, 2, 3, 3},
                        {2, 0, 0, kDropped, 0, 3, 2},
                        {1, 1, 1, kApplied, 2, 4, 4},
                        {0, 2, 2, kApplied, 4, 5, 5},
                        {1, 2, 2, kApplied, 4, 6, 6},
                        {2, 1, 1, kDropped, 3, 6, 2},
                        {0, 3, 3, kApplied, 6, 7, 7}});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::backup_order_test
