// The plan of a sweep whose optimum lies at an edge of its range, and of trials that diverge and are drawn again.
#include "recipes/sweep/sweep_plan.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "graph/error.h"
#include "tests/recipes/sweep/simulated_sweep.h"

namespace kb::sweep_plan_test {

BOOST_AUTO_TEST_SUITE(sweep_edges)

BOOST_AUTO_TEST_CASE(an_optimum_at_the_edge_widens_the_range) {
  Simulation sweep{definition_of("lr=0.001:0.01:log", {32})};  // the best rate is 0.032
  const SweepPlan plan = sweep.run(1);
  const MinibatchPlan& minibatch = plan.minibatches[0];
  BOOST_TEST(searches(minibatch) == 12u + 4u + 4u);
  BOOST_TEST(plan.find("kn32-above1-lr-p00") != nullptr);
  BOOST_TEST(plan.find("kn32-above2-lr-p03") != nullptr);
  BOOST_TEST(plan.find("kn32-below1-lr-p00") == nullptr);
  const auto rate_of = [&](const char* name) { return std::stod(plan.find(name)->values.at("lr")); };
  BOOST_TEST(rate_of("kn32-above1-lr-p00") == 0.01 * std::pow(10, 1. / 6), boost::test_tools::tolerance(1e-3));
  BOOST_TEST(rate_of("kn32-above2-lr-p00") == 0.01 * std::pow(10, 1. / 2), boost::test_tools::tolerance(1e-3));
  BOOST_TEST(best_lr(minibatch) > 0.025);
  BOOST_TEST(minibatch.bounds.empty());
}

// "kn32-above1-outer-lr-p00" begins with "kn32-above1-outer-", and is a trial of another flag.
BOOST_AUTO_TEST_CASE(a_widening_is_that_of_the_whole_name_of_its_flag) {
  Simulation sweep{definition_of("outer=sgd,nesterov", {32})};
  sweep.definition.ranges.push_back({parse_search("outer-lr=0.1:1"), true, true});
  sweep.standings["kn32-above1-outer-lr-p00"] = {TrialState::missed, 100};
  const SweepPlan plan = sweep.plan();
  BOOST_TEST(plan.find("kn32-above1-outer-lr-p03") != nullptr);
  BOOST_TEST(plan.find("kn32-above1-outer-p00") == nullptr);
}

BOOST_AUTO_TEST_CASE(an_optimum_beyond_two_widenings_is_a_bound) {
  Simulation sweep{definition_of("lr=0.0001:0.001:log", {32})};
  SweepPlan plan = sweep.run(1);
  BOOST_TEST(searches(plan.minibatches[0]) == 20u);
  BOOST_TEST((plan.minibatches[0].bounds == std::vector<RangeBound>{{"lr", true}}));
  Simulation low{definition_of("lr=1:10:log", {32})};
  low.net.rate = 0.01;  // the best is 0.32
  low.definition.ranges[0].widens_below = false;
  plan = low.run(1);
  BOOST_TEST(searches(plan.minibatches[0]) == 12u);
  BOOST_TEST((plan.minibatches[0].bounds == std::vector<RangeBound>{{"lr", false}}));
}

BOOST_AUTO_TEST_CASE(diverged_trials_beyond_the_best_are_no_edge) {
  Simulation sweep{definition_of("lr=x0.125:8", {8})};
  sweep.net.critical = 1;  // the best rate is 0.001, and rates from 0.008 on diverge
  const MinibatchPlan plan = sweep.run(1).minibatches[0];
  BOOST_TEST(std::any_of(plan.trials.begin(), plan.trials.end(),
                         [](const PlannedTrial& trial) { return trial.state == TrialState::diverged; }));
  for (const RangeBound& bound : plan.bounds) BOOST_TEST(!bound.is_above);
}

BOOST_AUTO_TEST_CASE(trials_that_diverge_are_drawn_again) {
  Simulation sweep{definition_of("lr=x0.125:8", {8, 16})};
  sweep.definition.ranges[0].widens_above = sweep.definition.ranges[0].widens_below = false;
  sweep.net.critical = 16;
  sweep.net.rate = 0.0002;  // the upper two thirds diverge around the first centre
  const auto feasible = [](const MinibatchPlan& plan) {
    return std::count_if(plan.trials.begin(), plan.trials.end(),
                         [](const PlannedTrial& trial) { return trial.state != TrialState::diverged; });
  };
  SweepPlan plan = Simulation(sweep).run(1);
  BOOST_TEST(plan.minibatches[0].trials.size() == 12u);
  BOOST_TEST(feasible(plan.minibatches[0]) < 12);
  sweep.definition.constants.draws = 4;
  plan = Simulation(sweep).run(1);
  BOOST_TEST(feasible(plan.minibatches[0]) == 12);
  BOOST_TEST(plan.minibatches[0].trials.size() > 12u);
  BOOST_TEST(plan.find("kn8-p12") != nullptr);
  sweep.definition.constants.draws = 1.25;  // 15 trials are drawn at most
  BOOST_TEST(Simulation(sweep).run(1).minibatches[0].trials.size() == 15u);
  sweep.definition.points = PointKind::even;
  BOOST_TEST(Simulation(sweep).run(1).minibatches[0].trials.size() == 12u);
}

BOOST_AUTO_TEST_CASE(redraws_do_not_depend_on_the_order_of_trials) {
  Simulation first{definition_of("lr=x0.03125:32", {8, 16, 64})};
  first.definition.constants = {.seed_cap = 4, .edge = 0.15, .draws = 2};
  const Simulation again = first;
  const SweepPlan expected = first.run(0);
  BOOST_TEST(expected.minibatches[0].trials.size() > 12u);
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const SweepPlan plan = Simulation(again).run(seed);
    for (size_t i = 0; i < plan.minibatches.size(); ++i) {
      const MinibatchPlan &a = expected.minibatches[i], &b = plan.minibatches[i];
      BOOST_REQUIRE(a.trials.size() == b.trials.size());
      BOOST_TEST(a.best.value() == b.best.value());
      for (size_t t = 0; t < a.trials.size(); ++t) BOOST_TEST(a.trials[t].name == b.trials[t].name);
    }
  }
}

// A trial that ended beyond 1.25 times the best one's steps would have been stopped if the trials had been done in
// another order; so it is hopeless in every order.
BOOST_AUTO_TEST_CASE(a_trial_that_ended_late_is_hopeless_however_it_ended) {
  Simulation sweep{definition_of("lr=x0.5:2", {8})};
  sweep.standings["kn8-p00"] = {TrialState::reached, 100, 100, 800};
  for (const End end : {TrialState::missed, TrialState::diverged, TrialState::waiting}) {
    sweep.standings["kn8-p01"] = {end, 126};
    BOOST_TEST((sweep.plan().find("kn8-p01")->state == TrialState::hopeless));
  }
  sweep.standings["kn8-p01"] = {TrialState::diverged, 125};
  BOOST_TEST((sweep.plan().find("kn8-p01")->state == TrialState::diverged));
}

BOOST_AUTO_TEST_CASE(a_best_trial_in_the_outer_share_widens_the_range) {
  Simulation sweep{definition_of("lr=0.001:0.01:log", {32})};
  sweep.definition.trials = 3;
  sweep.definition.constants.edge = 0.15;
  const auto widened = [&](const char* best, const char* name) {
    for (const char* other : {"kn32-p00", "kn32-p01", "kn32-p02"}) sweep.standings[other] = {TrialState::missed, 100};
    sweep.standings[best] = {TrialState::reached, 90, 90, 2880};
    return sweep.plan().find(name) != nullptr;
  };
  // The trials lie at 1/2, 1/4 and 3/4 of the range. The outer two have no trial beyond them and so are edges; the
  // inner one is none.
  BOOST_TEST(widened("kn32-p02", "kn32-above1-lr-p00"));
  BOOST_TEST(!widened("kn32-p00", "kn32-above1-lr-p00"));
  BOOST_TEST(widened("kn32-p02", "kn32-above1-lr-p00"));
  sweep.standings["kn32-p01"] = {TrialState::waiting, 10};  // it may still be the best one
  BOOST_TEST(sweep.plan().find("kn32-above1-lr-p00") == nullptr);
  sweep.definition.trials = 2;
  sweep.definition.ranges[0].widens_above = false;
  sweep.standings = {{"kn32-p00", {TrialState::reached, 90, 90, 2880}}, {"kn32-p01", {TrialState::missed, 100}}};
  BOOST_TEST((sweep.plan().minibatches[0].bounds == std::vector<RangeBound>{{"lr", true}}));
  sweep.definition.ranges[0].widens_above = true;
  sweep.definition.trials = 15;  // the trials lie at the sixteenths of the range
  const auto place = [&](const PlannedTrial& trial) { return std::lround(16 * trial.point[0]); };
  sweep.standings.clear();
  const SweepPlan before = sweep.plan();
  for (const int64_t own : {13, 14, 15}) {
    Simulation wide = sweep;
    for (const bool diverges : {false, true}) {
      for (const PlannedTrial& trial : before.minibatches[0].trials) {
        const bool is_beyond = place(trial) > own;
        wide.standings[trial.name] = place(trial) == own     ? TrialStanding{TrialState::reached, 90, 90, 2880}
                                     : is_beyond && diverges ? TrialStanding{TrialState::diverged, 10}
                                                             : TrialStanding{TrialState::missed, 100};
      }
      // 14/16 lies in the outer 15 %, 13/16 does not. A best trial beyond which all others diverge is no edge.
      const bool expected = own == 15 || (own == 14 && !diverges);
      BOOST_TEST((wide.plan().find("kn32-above1-lr-p00") != nullptr) == expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_minibatch_without_a_hit_widens_away_from_divergence) {
  Simulation sweep{definition_of("lr=0.001:0.01:log", {32})};
  sweep.definition.constants.edge = 0.15;
  const auto standings = [&](auto diverges) {
    sweep.standings.clear();
    const SweepPlan before = sweep.plan();
    for (const PlannedTrial& trial : before.minibatches[0].trials)
      sweep.standings[trial.name] =
          diverges(trial.point) ? TrialStanding{TrialState::diverged, 10} : TrialStanding{TrialState::missed, 100};
    return sweep.plan();
  };
  using Point = const std::vector<double>&;
  SweepPlan plan = standings([](Point u) { return u[0] > 0.5; });
  BOOST_TEST(plan.find("kn32-below1-lr-p00") != nullptr);
  BOOST_TEST(plan.find("kn32-above1-lr-p00") == nullptr);
  plan = standings([](Point u) { return u[0] < 0.5; });
  BOOST_TEST(plan.find("kn32-above1-lr-p00") != nullptr);
  plan = standings([](Point) { return true; });
  BOOST_TEST(plan.find("kn32-below1-lr-p00") != nullptr);
  plan = standings([](Point) { return false; });
  BOOST_TEST(plan.minibatches[0].trials.size() == 12u);
  sweep.definition.ranges.push_back({parse_search("momentum=0.8:0.99:revlog"), true, true});
  plan = standings([](Point) { return true; });  // the first range
  BOOST_TEST(plan.find("kn32-below1-lr-p00") != nullptr);
  plan = standings([](Point u) { return u[0] > 0.5; });
  BOOST_TEST(plan.find("kn32-below1-lr-p00") != nullptr);
  plan = standings([](Point u) { return u[1] < 0.5; });  // the second range alone tells them apart
  BOOST_TEST(plan.find("kn32-above1-momentum-p00") != nullptr);
  BOOST_TEST(plan.find("kn32-below1-lr-p00") == nullptr);
  sweep.definition.constants.edge = 0;  // as release 0.1 had it
  BOOST_TEST(standings([](Point) { return true; }).minibatches[0].trials.size() == 12u);
}

// Steps grow with the square of the distance from the optimum, which lies 0.15 of the first range outside of it, and
// scatter by 5 %. Nothing diverges, and all trials reach the target.
BOOST_AUTO_TEST_CASE(an_optimum_outside_is_noticed) {
  constexpr int kStudies = 100;
  struct Design {
    size_t ranges;
    int64_t trials;
  };
  for (const auto& [ranges, trials] : {Design{1, 24}, Design{2, 24}, Design{3, 100}}) {
    std::mt19937 random(5);
    std::normal_distribution<double> noise(0, 0.05);
    int noticed = 0, in_vain = 0;
    for (int study = 0; study < kStudies; ++study) {
      SweepDefinition definition = definition_of("lr=0.001:0.01:log", {32});
      if (ranges > 1) definition.ranges.push_back({parse_search("momentum=0.8:0.99:revlog"), true, true});
      if (ranges > 2) definition.ranges.push_back({parse_search("weight-decay=0:0.001"), true, true});
      definition.trials = trials;
      definition.point_seed = study;
      definition.constants.edge = 0.15;
      Standings standings;
      const auto train = [&](const SweepPlan& plan) {
        for (const PlannedTrial* trial : plan.waiting()) {
          double squares = 0;
          for (size_t d = 0; d < ranges; ++d) {
            const double away = trial->point[d] - (d == 0 ? 1.15 : 0.5);
            squares += away * away;
          }
          const double crossing = 1000 * (1 + 4 * squares) * std::exp(noise(random));
          const int64_t step = std::llround(std::ceil(crossing));
          standings[trial->name] = {TrialState::reached, step, step, 32.0 * static_cast<double>(step), false, crossing};
        }
      };
      SweepPlan plan = plan_sweep(definition, {}, standings);
      while (!plan.is_done()) {
        train(plan);
        plan = plan_sweep(definition, {}, standings);
      }
      const bool is_widened = plan.find("kn32-above1-lr-p00") != nullptr;
      const std::vector<RangeBound>& bounds = plan.minibatches[0].bounds;
      const bool is_bound = std::find(bounds.begin(), bounds.end(), RangeBound{"lr", true}) != bounds.end();
      noticed += is_widened || is_bound;
      in_vain += is_widened && is_bound;
    }
    BOOST_TEST_MESSAGE(ranges << " ranges, " << trials << " trials: noticed " << noticed
                              << ", widened and still at the edge " << in_vain << " of " << kStudies);
    BOOST_TEST(noticed >= kStudies * 95 / 100);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sweep_plan_test
