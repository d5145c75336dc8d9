// Tests the check of convergence by MLPerf's rules against the worked examples of the rules, Boost.Math's distribution
// and formulas that are written once more.
#include "recipes/papers/reference_check.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/error.h"
#include "tests/support/says.h"

namespace kb::reference_check_test {

namespace {

constexpr int64_t kFiveRuns = 3;  // five runs count without the fastest and the slowest

double rounded(double value, double unit) { return std::round(value / unit) * unit; }

}  // namespace

BOOST_AUTO_TEST_SUITE(reference_check)

// MLPerf's training_rules.adoc gives the mean, standard deviation and least mean of two sets of ten runs.
BOOST_AUTO_TEST_CASE(the_rules_worked_examples) {
  const std::vector<double> first = {16, 14, 16, 17, 16, 16, 15, 16, 15, 16},
                            second = {20, 21, 21, 20, 22, 22, 21, 21, 20, 20};
  const ConvergencePoint a = convergence_point(64, first, Deviation::of_rules),
                         b = convergence_point(128, second, Deviation::of_rules);
  const auto near = [](double got, double expected) {
    BOOST_TEST(rounded(got, 0.01) == expected, boost::test_tools::tolerance(1e-9));
  };
  BOOST_TEST(a.mean == 15.75);
  near(a.deviation, 0.43);
  near(least_mean(a, kFiveRuns), 15.21);
  near(100 * (a.mean / least_mean(a, kFiveRuns) - 1), 3.53);
  BOOST_TEST(b.mean == 20.75);
  near(b.deviation, 0.66);
  near(least_mean(b, kFiveRuns), 19.93);
  near(100 * (b.mean / least_mean(b, kFiveRuns) - 1), 4.12);
  // MLPerf's compliance checker takes the deviation of all runs, which allows lower means.
  const ConvergencePoint c = convergence_point(64, first, Deviation::of_checker),
                         d = convergence_point(128, second, Deviation::of_checker);
  near(least_mean(c, kFiveRuns), 14.78);
  near(least_mean(d, kFiveRuns), 19.82);
  near(100 * (c.mean / least_mean(c, kFiveRuns) - 1), 6.56);
  near(100 * (d.mean / least_mean(d, kFiveRuns) - 1), 4.69);
}

BOOST_AUTO_TEST_CASE(a_minibatch_between_two_points_is_on_their_line) {
  const std::vector<ConvergencePoint> points = {{100, 10, 1, 8}, {300, 20, 2, 15}};
  const ConvergencePoint middle = point_at(points, 150);
  BOOST_TEST(middle.mean == 12.5);
  BOOST_TEST(middle.deviation == 1.25);
  BOOST_TEST(middle.runs == 8);
  BOOST_TEST(point_at(points, 300).mean == 20);
  BOOST_TEST(point_at(points, 10).mean == 10);
  BOOST_CHECK_EXCEPTION(point_at(points, 301), Error, kb::test::says("expected a minibatch of at most 300"));
}

BOOST_AUTO_TEST_CASE(points_above_the_line_of_their_neighbours_go) {
  const std::vector<ConvergencePoint> points = {{1, 12, 1, 8}, {2, 10, 1, 8}, {3, 14, 1, 8},
                                                {4, 12, 1, 8}, {5, 13, 1, 8}, {6, 20, 1, 8}};
  std::vector<int64_t> left;
  for (const ConvergencePoint& point : pruned(points)) left.push_back(point.minibatch);
  // Minibatch 1 is smaller than that of the fewest epochs, 2. Minibatch 3 lies above the line from 2 to 4; none of the
  // others lies above such a line.
  BOOST_TEST((left == std::vector<int64_t>{2, 4, 5, 6}));
}

BOOST_AUTO_TEST_CASE(runs_are_judged_by_their_trimmed_mean) {
  const std::vector<ConvergencePoint> points = {{64, 15.75, std::sqrt(0.1875), 8}};
  const std::vector<double> fast = {14, 15, 15, 15, 18}, allowed = {15, 15, 16, 15.5, 19}, slow = {17, 17, 16, 18, 17};
  BOOST_TEST(!check_convergence(points, 64, fast).passes);
  const ConvergenceVerdict verdict = check_convergence(points, 64, allowed);
  BOOST_TEST(verdict.mean == 15.5);
  BOOST_TEST(verdict.passes);
  BOOST_TEST(verdict.score_factor == 15.75 / 15.5);
  BOOST_TEST(check_convergence(points, 64, slow).score_factor == 1);
  BOOST_CHECK_EXCEPTION(check_convergence(points, 64, std::vector<double>{15, 16}), Error,
                        kb::test::says("expected at least 3 runs"));
}

// Student's t of 9 degrees is 1.833 at one-sided 5 % and 2.821 at 1 % (tables).
BOOST_AUTO_TEST_CASE(the_p_value_is_that_of_the_t_test) {
  const ConvergencePoint reference{64, 15.75, std::sqrt(0.1875), 8};
  const double error = reference.deviation * std::sqrt(1.0 / 8 + 1.0 / 3);
  const auto p = [&](double mean) { return chance_of_mean(reference, 3, mean); };
  const auto near = boost::test_tools::tolerance(1e-3);
  BOOST_TEST(p(15.75 - 1.8331 * error) == 0.05, near);
  BOOST_TEST(p(15.75 - 2.8214 * error) == 0.01, near);
  BOOST_TEST(p(15.75 + 1.8331 * error) == 0.95, near);
  BOOST_TEST(p(least_mean(reference, 3)) == 0.05, near);
  BOOST_TEST(p(15.75) == 0.5, near);
  const ConvergencePoint alike{64, 15, 0, 8};
  BOOST_TEST(chance_of_mean(alike, 3, 15) == 1);
  BOOST_TEST(chance_of_mean(alike, 3, 14.9) == 0);
}

// The means, in epochs, are those of the reference's own table.
BOOST_AUTO_TEST_CASE(the_references_points) {
  const std::vector<std::pair<int64_t, double>> means = {{1632, 35.0},  {3264, 35.2},  {4096, 40.0},  {8192, 42.0},
                                                         {13056, 45.4}, {32768, 56.0}, {49152, 68.0}, {58880, 79.9},
                                                         {65536, 84.5}, {67840, 85.9}};
  size_t i = 0;
  for (const ReferencePoint& point : reference_points()) {
    double sum = 0;
    for (const double epochs : point.epochs) sum += epochs;
    BOOST_TEST(point.minibatch == means[i].first);
    BOOST_TEST(std::abs(sum / static_cast<double>(point.epochs.size()) - means[i++].second) < 0.06);
  }
}

// A search over all pairs of points finds the lower hull of the points, which stay.
BOOST_AUTO_TEST_CASE(the_points_that_stay) {
  std::vector<ConvergencePoint> all;
  for (const ReferencePoint& point : reference_points())
    all.push_back(convergence_point(point.minibatch, point.epochs, Deviation::of_rules));
  const auto is_above_a_line = [&](const ConvergencePoint& b) {
    for (const ConvergencePoint& a : all)
      for (const ConvergencePoint& c : all) {
        if (a.minibatch >= b.minibatch || b.minibatch >= c.minibatch) continue;
        const double share =
            static_cast<double>(b.minibatch - a.minibatch) / static_cast<double>(c.minibatch - a.minibatch);
        if (b.mean > a.mean + share * (c.mean - a.mean)) return true;
      }
    return false;
  };
  std::vector<int64_t> expected, got;
  for (const ConvergencePoint& point : all)
    if (!is_above_a_line(point)) expected.push_back(point.minibatch);
  for (const ConvergencePoint& point : resnet_points(Deviation::of_rules)) got.push_back(point.minibatch);
  BOOST_TEST(got == expected);
  BOOST_TEST((got == std::vector<int64_t>{1632, 3264, 32768, 49152, 67840}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::reference_check_test
