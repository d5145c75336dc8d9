// The plan of a sweep on a net that is a formula: steps to the target by minibatch and rate. Trials advance in random
// order and are stopped as the plan says, as several processes would have it.
#include "recipes/sweep/sweep_plan.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <set>
#include <tuple>

#include "graph/error.h"
#include "tests/support/says.h"

namespace kb::sweep_plan_test {
namespace {

using End = TrialStanding::End;

// S(B) = least x (1 + critical / B) steps at the best rate, which grows with B up to `critical`; more with the square
// of the octaves from there; from three octaves above it on a training diverges.
struct Net {
  double least = 100, critical = 64, rate = 0.001;  // of one sample

  double best_rate(int64_t minibatch) const { return rate * std::min(static_cast<double>(minibatch), critical); }
  double octaves(int64_t minibatch, double lr) const { return std::log2(lr / best_rate(minibatch)); }
  bool diverges(int64_t minibatch, double lr) const { return octaves(minibatch, lr) >= 3; }
  int64_t steps(int64_t minibatch, double lr, int64_t seed) const {
    const double away = octaves(minibatch, lr);
    const double chance = 1 + 0.01 * static_cast<double>(seed - 1);
    return std::llround(least * (1 + critical / static_cast<double>(minibatch)) * (1 + 0.3 * away * away) * chance);
  }
};

SweepDefinition definition_of(const std::string& range, std::vector<int64_t> minibatches) {
  SweepDefinition definition;
  definition.recipe = "net";
  definition.minibatches = std::move(minibatches);
  definition.ranges = {{parse_search(range), true, true}};
  definition.centre = {{"lr", 0.008}};
  definition.trials = 12;
  return definition;
}

// A store in memory.
struct Simulation {
  SweepDefinition definition;
  Net net = {};
  Standings standings = {};
  Openings openings = {};

  SweepPlan plan() const { return plan_sweep(definition, openings, standings); }

  void open(const SweepPlan& planned) {
    for (const MinibatchPlan& minibatch : planned.minibatches)
      if (minibatch.is_new) openings.emplace(minibatch.minibatch, minibatch.opening);
  }

  // One trial goes on by a part of its steps, or to its end.
  void advance(const PlannedTrial& trial, std::mt19937& random) {
    const double lr = std::stod(trial.values.at("lr"));
    TrialStanding& standing = standings[trial.name];
    const int64_t needed = net.steps(trial.minibatch, lr, trial.seed);
    const int64_t last = trial.most_steps > 0 ? trial.most_steps : 1'000'000;
    standing.steps += 1 + needed * static_cast<int64_t>(random() % 100) / 100;
    if (net.diverges(trial.minibatch, lr)) {
      standing = {End::diverged, 7};
    } else if (standing.steps >= std::min(needed, last)) {
      const auto samples = static_cast<double>(needed * trial.minibatch);
      standing =
          needed <= last ? TrialStanding{End::reached, needed, needed, samples} : TrialStanding{End::missed, last};
    }
  }

  SweepPlan run(unsigned seed) {
    std::mt19937 random(seed);
    for (int rounds = 0; rounds < 1'000'000; ++rounds) {
      const SweepPlan planned = plan();
      open(planned);
      const std::vector<const PlannedTrial*> waiting = planned.waiting();
      if (waiting.empty()) {
        if (planned.is_done()) return planned;
        continue;
      }
      advance(*waiting[random() % std::min<size_t>(waiting.size(), 4)], random);
    }
    throw std::logic_error("the sweep does not end");
  }
};

double best_lr(const MinibatchPlan& plan) { return std::stod(plan.trials.at(plan.best.value()).values.at("lr")); }

size_t searches(const MinibatchPlan& plan) {
  return static_cast<size_t>(
      std::count_if(plan.trials.begin(), plan.trials.end(), [](const PlannedTrial& trial) { return trial.is_search; }));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sweep_plan)

BOOST_AUTO_TEST_CASE(the_best_rate_of_each_minibatch_is_found) {
  Simulation sweep{definition_of("lr=x0.125:8", {8, 16, 32, 64, 128, 256, 512})};
  const SweepPlan plan = sweep.run(1);
  for (const MinibatchPlan& minibatch : plan.minibatches) {
    BOOST_TEST_CONTEXT(minibatch.minibatch) {
      // 12 points over six octaves: the gaps of the sequence are at most 0.75.
      BOOST_TEST(std::abs(sweep.net.octaves(minibatch.minibatch, best_lr(minibatch))) < 0.75);
      BOOST_TEST(searches(minibatch) == 12u);
      BOOST_TEST(minibatch.bounds.empty());
      BOOST_TEST(minibatch.is_searched);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_plan_does_not_depend_on_the_order_of_its_trials) {
  Simulation first{definition_of("lr=x0.125:8", {8, 16, 32, 64, 128})};
  first.definition.seeds = 2;
  Simulation again = first;
  const SweepPlan expected = first.run(0);
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Simulation other = again;
    const SweepPlan plan = other.run(seed);
    BOOST_TEST((other.openings == first.openings));
    for (size_t i = 0; i < plan.minibatches.size(); ++i) {
      const MinibatchPlan &a = expected.minibatches[i], &b = plan.minibatches[i];
      BOOST_REQUIRE(a.trials.size() == b.trials.size());
      BOOST_TEST(a.best.value() == b.best.value());
      BOOST_TEST((a.bounds == b.bounds));
      for (size_t t = 0; t < a.trials.size(); ++t) {
        BOOST_TEST(a.trials[t].name == b.trials[t].name);
        BOOST_TEST((a.trials[t].values == b.trials[t].values));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(minibatches_open_one_behind_the_other_around_the_last_best) {
  Simulation sweep{definition_of("lr=x0.125:8", {8, 16})};
  SweepPlan plan = sweep.plan();
  BOOST_TEST(plan.minibatches[0].is_new);
  BOOST_TEST(plan.minibatches[0].trials.at(0).name == "kn8-p00");
  BOOST_TEST(plan.minibatches[0].trials.at(0).values.at("lr") == "0.008");  // the middle: the centre itself
  BOOST_TEST(plan.minibatches[0].trials.at(0).most_steps == 0);
  BOOST_TEST(!plan.minibatches[1].is_open);
  BOOST_TEST(plan.minibatches[1].trials.empty());
  BOOST_TEST(plan.waiting().size() == 12u);
  plan = sweep.run(3);
  const PlannedTrial& best = plan.minibatches[0].trials[plan.minibatches[0].best.value()];
  BOOST_TEST(plan.minibatches[1].trials.at(0).values.at("lr") == best.values.at("lr"));
  BOOST_TEST(plan.minibatches[1].trials.at(0).most_steps == std::ceil(3 * best.standing.samples / 16));
}

BOOST_AUTO_TEST_CASE(the_first_of_equals_is_the_best) {
  Simulation sweep{definition_of("lr=x0.5:2", {8})};
  for (const char* name : {"kn8-p03", "kn8-p05", "kn8-p07"}) sweep.standings[name] = {End::reached, 90, 90, 720};
  sweep.standings["kn8-p01"] = {End::reached, 91, 91, 728};
  const MinibatchPlan plan = sweep.plan().minibatches[0];
  BOOST_TEST(plan.trials[plan.best.value()].name == "kn8-p03");
}

BOOST_AUTO_TEST_CASE(a_trial_beyond_the_best_ones_steps_is_hopeless_and_stays_so) {
  Simulation sweep{definition_of("lr=x0.5:2", {8})};
  const auto state = [&] { return sweep.plan().find("kn8-p01")->state; };
  sweep.standings["kn8-p01"] = {End::none, 126};
  BOOST_TEST((state() == TrialState::waiting));
  sweep.standings["kn8-p02"] = {End::reached, 101, 101, 808};
  BOOST_TEST((state() == TrialState::waiting));  // 126 <= 1.25 x 101
  sweep.standings["kn8-p03"] = {End::reached, 100, 100, 800};
  BOOST_TEST((state() == TrialState::hopeless));
  sweep.standings["kn8-p04"] = {End::reached, 50, 50, 400};
  BOOST_TEST((state() == TrialState::hopeless));
  for (const PlannedTrial* waiting : sweep.plan().waiting()) BOOST_TEST(waiting->name != "kn8-p01");
}

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
  sweep.net.critical = 1;  // rates below 0.008 alone are trained
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
  sweep.definition.constants.draws = 1.25;  // the limit
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

// Whatever was done first: a trial that ended beyond 1.25 x the best one's steps would have been stopped in another
// order.
BOOST_AUTO_TEST_CASE(a_trial_that_ended_late_is_hopeless_however_it_ended) {
  Simulation sweep{definition_of("lr=x0.5:2", {8})};
  sweep.standings["kn8-p00"] = {End::reached, 100, 100, 800};
  for (const End end : {End::missed, End::diverged, End::none}) {
    sweep.standings["kn8-p01"] = {end, 126};
    BOOST_TEST((sweep.plan().find("kn8-p01")->state == TrialState::hopeless));
  }
  sweep.standings["kn8-p01"] = {End::diverged, 125};
  BOOST_TEST((sweep.plan().find("kn8-p01")->state == TrialState::diverged));
}

BOOST_AUTO_TEST_CASE(a_best_trial_in_the_outer_share_widens_the_range) {
  Simulation sweep{definition_of("lr=0.001:0.01:log", {32})};
  sweep.definition.trials = 3;
  sweep.definition.constants.edge = 0.15;
  const auto widened = [&](const char* best, const char* name) {
    for (const char* other : {"kn32-p00", "kn32-p01", "kn32-p02"}) sweep.standings[other] = {End::missed, 100};
    sweep.standings[best] = {End::reached, 90, 90, 2880};
    return sweep.plan().find(name) != nullptr;
  };
  // Places 1/2, 1/4 and 3/4: the outer ones have none beyond, the inner one is no edge.
  BOOST_TEST(widened("kn32-p02", "kn32-above1-lr-p00"));
  BOOST_TEST(!widened("kn32-p00", "kn32-above1-lr-p00"));
  sweep.definition.trials = 15;  // sixteenths
  const auto place = [&](const PlannedTrial& trial) { return std::lround(16 * trial.point[0]); };
  sweep.standings.clear();
  const SweepPlan before = sweep.plan();
  for (const int64_t own : {13, 14, 15}) {
    Simulation wide = sweep;
    for (const bool diverges : {false, true}) {
      for (const PlannedTrial& trial : before.minibatches[0].trials) {
        const bool is_beyond = place(trial) > own;
        wide.standings[trial.name] = place(trial) == own     ? TrialStanding{End::reached, 90, 90, 2880}
                                     : is_beyond && diverges ? TrialStanding{End::diverged, 10}
                                                             : TrialStanding{End::missed, 100};
      }
      // 14/16 lies in the outer 15 %, 13/16 does not; divergence beyond is no edge.
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
          diverges(trial.point[0]) ? TrialStanding{End::diverged, 10} : TrialStanding{End::missed, 100};
    return sweep.plan();
  };
  SweepPlan plan = standings([](double u) { return u > 0.5; });
  BOOST_TEST(plan.find("kn32-below1-lr-p00") != nullptr);
  BOOST_TEST(plan.find("kn32-above1-lr-p00") == nullptr);
  plan = standings([](double u) { return u < 0.5; });
  BOOST_TEST(plan.find("kn32-above1-lr-p00") != nullptr);
  plan = standings([](double) { return true; });
  BOOST_TEST(plan.find("kn32-below1-lr-p00") != nullptr);
  plan = standings([](double) { return false; });
  BOOST_TEST(plan.minibatches[0].trials.size() == 12u);
}

// Steps grow with the square of the distance from the optimum, which lies 0.15 of the first range outside of it, and
// scatter by 5 %. Nothing diverges, and all trials reach the target.
BOOST_AUTO_TEST_CASE(an_optimum_outside_is_noticed) {
  constexpr int kStudies = 200;
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
          standings[trial->name] = {End::reached, step, step, 32.0 * static_cast<double>(step), false, crossing};
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

BOOST_AUTO_TEST_CASE(seeds_go_on_to_a_multiple_of_the_bests_steps) {
  Simulation sweep{definition_of("lr=x0.125:8", {8, 16})};
  sweep.definition.seeds = 2;
  sweep.definition.constants.seed_cap = 4;
  const auto steps_of_seed = [&](const SweepPlan& plan) {
    const MinibatchPlan& last = plan.minibatches[1];
    const PlannedTrial& best = last.trials[last.best.value()];
    return std::pair(plan.find(best.name + "-seed-2")->most_steps, best.standing.target_step);
  };
  auto [decaying, best] = steps_of_seed(Simulation(sweep).run(1));
  BOOST_TEST(decaying != 4 * best);
  sweep.definition.words = {"--schedule", "constant"};
  std::tie(decaying, best) = steps_of_seed(Simulation(sweep).run(1));
  BOOST_TEST(decaying == 4 * best);
}

BOOST_AUTO_TEST_CASE(seeds_train_the_best_alone) {
  Simulation sweep{definition_of("lr=x0.125:8", {8, 16, 32})};
  sweep.definition.seeds = 3;
  sweep.definition.first_seed = 5;
  const SweepPlan plan = sweep.run(2);
  for (const MinibatchPlan& minibatch : plan.minibatches) {
    std::set<std::string> names;
    const PlannedTrial& best = minibatch.trials[minibatch.best.value()];
    for (const PlannedTrial& trial : minibatch.trials) {
      BOOST_TEST((trial.seed == 5) == trial.is_search);
      if (trial.is_search) continue;
      names.insert(trial.name);
      BOOST_TEST((trial.values == best.values));
      BOOST_TEST((trial.state == TrialState::reached));
    }
    BOOST_TEST((names == std::set<std::string>{best.name + "-seed-6", best.name + "-seed-7"}));
  }
  BOOST_TEST(plan.closed() == 3 * 14u);
  BOOST_TEST(plan.most_trials(sweep.definition) == plan.closed());
}

BOOST_AUTO_TEST_CASE(where_none_reaches_the_target_the_last_best_stays_the_centre) {
  Simulation sweep{definition_of("lr=x0.5:2", {8, 16, 32, 64})};
  sweep.definition.trials = 2;
  sweep.definition.ranges[0].widens_above = sweep.definition.ranges[0].widens_below = false;
  const auto end = [&](const char* name, TrialStanding standing) { sweep.standings[name] = standing; };
  end("kn8-p00", {End::missed, 100});
  end("kn8-p01", {End::diverged, 3});
  SweepPlan plan = sweep.plan();
  BOOST_TEST((plan.minibatches[1].opening == Opening{{{"lr", 0.008}}, 0}));
  sweep.open(plan);
  end("kn16-p00", {End::reached, 40, 40, 640});
  end("kn16-p01", {End::refused, 0});
  sweep.open(plan = sweep.plan());
  BOOST_TEST((plan.minibatches[2].opening == Opening{{{"lr", 0.008}}, 60}));
  end("kn32-p00", {End::missed, 60});
  end("kn32-p01", {End::missed, 60});
  plan = sweep.plan();
  BOOST_TEST(!plan.minibatches[2].best.has_value());
  BOOST_TEST((plan.minibatches[3].opening == Opening{{{"lr", 0.008}}, 60}));
}

// The trial failed in this process, which may be the only one whose data are missing.
BOOST_AUTO_TEST_CASE(nothing_follows_from_a_trial_that_failed) {
  Simulation sweep{definition_of("lr=x0.5:2", {8, 16})};
  sweep.definition.trials = 3;
  sweep.definition.seeds = 2;
  const auto is_opened = [&] { return sweep.plan().minibatches[1].is_new; };
  for (const char* name : {"kn8-p00", "kn8-p01", "kn8-p02"}) sweep.standings[name] = {End::failed, 0};
  BOOST_TEST(!is_opened());
  BOOST_TEST(sweep.plan().waiting().empty());
  BOOST_TEST(!sweep.plan().is_done());
  BOOST_TEST(sweep.plan().closed() == 0u);
  sweep.standings["kn8-p00"] = {End::reached, 100, 100, 800};
  sweep.standings["kn8-p01"] = {End::missed, 200};
  BOOST_TEST(!is_opened());
  BOOST_TEST(sweep.plan().minibatches[0].trials.size() == 3u);  // nor is a range widened, nor a seed trained
  sweep.standings["kn8-p02"] = {End::refused, 0};
  BOOST_TEST(is_opened());
  sweep.open(sweep.plan());
  BOOST_TEST(sweep.plan().minibatches[0].trials.size() == 4u);
  sweep.standings["kn8-p00-seed-2"] = {End::failed, 0};
  BOOST_TEST(sweep.plan().minibatches[0].is_searched);
  for (const char* name : {"kn16-p00", "kn16-p01", "kn16-p02"}) sweep.standings[name] = {End::missed, 200};
  BOOST_TEST(sweep.plan().waiting().empty());
  BOOST_TEST(!sweep.plan().is_done());
}

BOOST_AUTO_TEST_CASE(the_cap_leaves_the_last_bests_steps_and_is_a_number_of_steps) {
  Simulation sweep{definition_of("lr=x0.5:2", {8, 64})};
  sweep.definition.trials = 2;
  sweep.definition.ranges[0].widens_above = sweep.definition.ranges[0].widens_below = false;
  sweep.standings["kn8-p00"] = {End::reached, 101, 101, 808};
  sweep.standings["kn8-p01"] = {End::missed, 300};
  const auto cap = [&](double times) {
    sweep.definition.cap = times;
    return sweep.plan().minibatches[1].opening.most_steps;
  };
  BOOST_TEST(cap(3) == 152);   // 3 x 808 / 64 = 37.9; 1.5 x 101 = 151.5
  BOOST_TEST(cap(20) == 253);  // 20 x 808 / 64 = 252.5
  BOOST_TEST(cap(1e9) == (int64_t{1} << 31) - 1);
}

BOOST_AUTO_TEST_CASE(a_trial_is_final_where_nobody_goes_on_with_it) {
  Simulation sweep{definition_of("lr=x0.5:2", {8})};
  sweep.standings["kn8-p00"] = {End::reached, 100, 100, 800};
  const auto is_final = [&](const TrialStanding& standing) {
    sweep.standings["kn8-p01"] = standing;
    return sweep.plan().find("kn8-p01")->is_final();
  };
  BOOST_TEST(!is_final({End::none, 50, 0, 0, true}));
  BOOST_TEST(!is_final({End::none, 200}));  // hopeless, and runs
  BOOST_TEST(is_final({End::none, 200, 0, 0, true}));
  BOOST_TEST(is_final({End::missed, 200}));
  BOOST_TEST(is_final({End::refused, 0}));
  BOOST_TEST(!is_final({End::failed, 0}));
}

BOOST_AUTO_TEST_CASE(a_sweep_that_grows_keeps_what_was_trained) {
  Simulation sweep{definition_of("lr=x0.125:8", {8, 32})};
  const SweepPlan before = sweep.run(1);
  const Openings openings = sweep.openings;
  sweep.definition.trials = 20;
  sweep.definition.seeds = 2;
  sweep.definition.minibatches = {4, 8, 16, 32};
  sweep.definition.centre = {{"lr", 0.004}};
  for (const MinibatchPlan& minibatch : before.minibatches)
    for (const PlannedTrial& trial : minibatch.trials) {
      const SweepPlan plan = sweep.plan();
      BOOST_REQUIRE(plan.find(trial.name) != nullptr);
      BOOST_TEST((plan.find(trial.name)->values == trial.values));
      BOOST_TEST((plan.find(trial.name)->state == trial.state));
    }
  const SweepPlan plan = sweep.run(2);
  for (const auto& [minibatch, opening] : openings) BOOST_TEST((sweep.openings.at(minibatch) == opening));
  for (const MinibatchPlan& minibatch : plan.minibatches) BOOST_TEST(searches(minibatch) == 20u);
  BOOST_TEST(plan.minibatches[0].trials[0].values.at("lr") == "0.004");
}

BOOST_AUTO_TEST_CASE(ranges_that_were_widened_stay_so) {
  Simulation sweep{definition_of("lr=0.001:0.01:log", {32})};
  sweep.run(1);
  sweep.definition.trials = 13;
  // The new trial is the best, far from the edges.
  sweep.standings["kn32-p12"] = {End::reached, 10, 10, 320};
  const SweepPlan plan = sweep.run(2);
  BOOST_TEST(plan.find("kn32-above2-lr-p04") != nullptr);
  BOOST_TEST(plan.minibatches[0].trials[plan.minibatches[0].best.value()].name == "kn32-p12");
}

BOOST_AUTO_TEST_CASE(a_sweep_is_kept_and_grows_but_never_changes) {
  SweepDefinition definition = definition_of("lr=x0.125:8", {8, 32});
  definition.words = {"--target", "error=0.03", "--data", "here"};
  definition.shards = 2;
  const std::string text = definition_json(definition);
  BOOST_TEST(definition_json(parse_definition(text, "sweep.json")) == text);
  const auto grown = [&](auto change) {
    SweepDefinition asked = definition;
    asked.shards = 4;
    change(asked);
    return grown_definition(definition, asked, "STORE");
  };
  BOOST_TEST(grown([](SweepDefinition& d) { d.trials = 20; }).trials == 20);
  BOOST_TEST(grown([](SweepDefinition& d) { d.words.back() = "there"; }).words.back() == "there");
  BOOST_TEST(grown([](SweepDefinition& d) { d.minibatches = {4, 8, 16, 32}; }).shards == 2);
  const auto refused = [&](auto change, const char* part, const char* there, const char* asked) {
    BOOST_CHECK_EXCEPTION(grown(change), Error,
                          test::says("--store: STORE holds another sweep: ", part, std::string("expected: ") + there,
                                     std::string("got:      ") + asked, "hint:"));
  };
  refused([](SweepDefinition& d) { d.words[1] = "error=0.02"; }, "the flags of its trials differ",
          "--target error=0.03", "--target error=0.02");
  refused([](SweepDefinition& d) { d.ranges[0].range.high = 4; }, "what is searched differs", "--search lr=x0.125:8",
          "--search lr=x0.125:4");
  refused(
      [](SweepDefinition& d) {
        d.centre = {{"lr", 0.5}};
      },
      "the centre of the search differs", "lr 0.008 at minibatch 8", "lr 0.5 at minibatch 8");
  refused([](SweepDefinition& d) { d.trials = 4; }, "--trials differ", "12 or more", "4");
  refused([](SweepDefinition& d) { d.minibatches = {8}; }, "the minibatches differ", "all of 8,32", "8");
  refused([](SweepDefinition& d) { d.cap = 2; }, "--cap differs", "3", "2");
  refused([](SweepDefinition& d) { d.constants.draws = 2; }, "--draws differ", "1", "2");
  refused([](SweepDefinition& d) { d.constants.widenings = 3; }, "--widenings differ", "2", "3");
  BOOST_CHECK_EXCEPTION(parse_definition("{}", "sweep.json"), Error, test::says("sweep.json", "recipe"));
  // A store of release 0.1 does not say its constants.
  const size_t begin = text.find("  \"constants\""), end = text.find("},\n", begin) + 3;
  const SweepDefinition old = parse_definition(std::string(text).erase(begin, end - begin), "sweep.json");
  BOOST_TEST((old.constants == SweepConstants()));
  definition.constants.edge = 0.6;
  BOOST_CHECK_EXCEPTION(parse_definition(definition_json(definition), "sweep.json"), Error,
                        test::says("sweep.json: --edge: expected a number in [0, 0.5], got 0.6"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sweep_plan_test
