// Tests trials an hour, whose closed forms follow from S(B) = S_min (1 + B_crit / B).
#include "recipes/answer/target_cost.h"

#include <boost/test/unit_test.hpp>
#include <sstream>

#include "tests/support/support.h"

namespace kb::trial_rates_test {
namespace {

const auto kExact = boost::test_tools::tolerance(1e-12);

// Computes for 10 ms on 1, 2 and 4 workers and for 12 ms on 8, whose node is full; a step waits 2 ms for the network
// where there are several workers. The minibatch is 32 a worker, S_min 100 and B_crit 64.
ClusterCost cost_by_hand() {
  ScaleForecast forecast{"net", "nodes of 8", "--policy sync", {}};
  for (int workers = 1; workers <= 8; workers *= 2) {
    const double compute = workers == 8 ? 0.012 : 0.01, wait = workers == 1 ? 0 : 0.002;
    const double minibatch = 32.0 * workers, step = compute + wait;
    forecast.rows.push_back({workers, minibatch, step, wait, wait, minibatch / step, 1, 1, compute});
  }
  return target_cost({100, 64, 1}, forecast, {32, 256});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(trial_rates_)

// A trial on one worker takes 300 steps, so that 8 of them side by side take 300 x 12 ms = 3.6 s: 8000 an hour. On 8
// workers 125 steps of 14 ms take 1.75 s, 2057.1 an hour.
BOOST_AUTO_TEST_CASE(trials_side_by_side_compute_alone_on_full_nodes) {
  const std::vector<TrialRates> rates = trial_rates(cost_by_hand());
  BOOST_REQUIRE(rates.size() == 4u);
  BOOST_TEST(rates[3].workers == 8);
  BOOST_TEST(rates[3].one_by_one == 3600 / 1.75, kExact);
  BOOST_TEST(rates[3].side_by_side == 8000, kExact);
  BOOST_TEST(rates[3].sooner() == 3.6 / 1.75, kExact);
  BOOST_TEST(rates[3].more() == 8 * 1.75 / 3.6, kExact);
  for (const TrialRates& row : rates) BOOST_TEST(row.sooner() * row.more() == row.workers, kExact);
  BOOST_TEST(rates[0].sooner() == 1, kExact);
}

BOOST_AUTO_TEST_CASE(both_factors_are_told) {
  const ClusterCost cost = cost_by_hand();
  test::golden("trial_rates.txt", trials_table(cost) + trials_sentence(cost) + "\n");
  std::istringstream lines(trials_table(cost));
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 80u, line);
  ClusterCost beyond = cost;
  beyond.rows.front().is_measured = false;
  BOOST_TEST(test::contains(trials_sentence(beyond), "That minibatch is none that was measured"));
  BOOST_TEST(!test::contains(trials_sentence(cost), "none that was"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::trial_rates_test
