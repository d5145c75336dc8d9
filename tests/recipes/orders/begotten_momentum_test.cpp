// Asynchrony begets momentum (Mitliagkas et al. 2016, "Asynchrony begets Momentum, with an Application to Deep
// Learning", arXiv 1605.09774), here on f(x) = x^2 / 2.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/recipes/orders/orders.h"

namespace kb::begotten_momentum_test {
namespace {

constexpr int64_t kOrders = 2000;
constexpr size_t kSteps = 60;
constexpr double kRate = 0.3, kStart = 1;

// Trains along an order by plain SGD, and adds x after each step to `sums`.
void train_along(const OrderPlan& plan, std::vector<double>& sums) {
  GradientOrder order(plan);
  std::vector<double> x = {kStart};  // x[v] is version v
  for (size_t step = 0; step < kSteps; ++step) {
    const GradientRecord record = order.next().value();
    x.push_back(x.back() - kRate * x[static_cast<size_t>(record.read)]);
    sums[step] += x.back();
  }
}

// Returns the mean of x over all orders, after each step, in closed form. With exponential times each worker is as
// likely as another to end next, so that the mean m of the parameters that the k workers have read becomes
// (1 - 1/k) m + x / k with each new x, and x moves by -rate m: a step is (1 - 1/k) times the one before, less
// rate / k times the gradient. The first step is full, since all workers have read the start.
std::vector<double> with_momentum(int64_t k) {
  const double share = 1 / static_cast<double>(k);
  std::vector<double> after;
  double x = kStart, move = -kRate * kStart;
  for (size_t step = 0; step < kSteps; ++step) {
    x += move;
    after.push_back(x);
    move = (1 - share) * move - kRate * share * x;
  }
  return after;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(begotten_momentum)

BOOST_AUTO_TEST_CASE(the_mean_over_orders_has_momentum) {
  for (const int64_t k : {2, 4, 8}) {
    std::vector<double> sums(kSteps);
    for (int64_t seed = 0; seed < kOrders; ++seed)
      train_along(test::order_plan_of(test::async_policy(k), "exponential", 0, static_cast<uint64_t>(seed)), sums);
    const std::vector<double> expected = with_momentum(k);
    double worst = 0;
    for (size_t step = 0; step < kSteps; ++step)
      worst = std::max(worst, std::abs(sums[step] / kOrders - expected[step]));
    BOOST_TEST_CONTEXT(k << " workers") {
      BOOST_TEST(worst < 0.02 * kStart);
      BOOST_TEST(*std::min_element(expected.begin(), expected.end()) < -0.03 * kStart);  // x swings, as momentum does
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::begotten_momentum_test
