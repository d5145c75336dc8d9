// The plan of a sweep: rates, minibatches, hopeless trials, seeds, caps, and sweeps that grow.
#include "recipes/sweep/sweep_plan.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>
#include <tuple>

#include "graph/error.h"
#include "tests/recipes/sweep/simulated_sweep.h"
#include "tests/support/says.h"

namespace kb::sweep_plan_test {

BOOST_AUTO_TEST_SUITE(sweep_plan)

BOOST_AUTO_TEST_CASE(the_best_rate_of_each_minibatch_is_found) {
  Simulation sweep{definition_of("lr=x0.125:8", {8, 16, 32, 64, 128, 256, 512})};
  const SweepPlan plan = sweep.run(1);
  for (const MinibatchPlan& minibatch : plan.minibatches) {
    BOOST_TEST_CONTEXT(minibatch.minibatch) {
      // The 12 points of the sequence lie over six octaves, with gaps of at most 0.75 octaves.
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
  for (const char* name : {"kn8-p03", "kn8-p05", "kn8-p07"}) sweep.standings[name] = {TrialState::reached, 90, 90, 720};
  sweep.standings["kn8-p01"] = {TrialState::reached, 91, 91, 728};
  const MinibatchPlan plan = sweep.plan().minibatches[0];
  BOOST_TEST(plan.trials[plan.best.value()].name == "kn8-p03");
}

BOOST_AUTO_TEST_CASE(a_trial_beyond_the_best_ones_steps_is_hopeless_and_stays_so) {
  Simulation sweep{definition_of("lr=x0.5:2", {8})};
  const auto state = [&] { return sweep.plan().find("kn8-p01")->state; };
  sweep.standings["kn8-p01"] = {TrialState::waiting, 126};
  BOOST_TEST((state() == TrialState::waiting));
  sweep.standings["kn8-p02"] = {TrialState::reached, 101, 101, 808};
  BOOST_TEST((state() == TrialState::waiting));  // 126 <= 1.25 x 101
  sweep.standings["kn8-p03"] = {TrialState::reached, 100, 100, 800};
  BOOST_TEST((state() == TrialState::hopeless));
  sweep.standings["kn8-p05"] = {TrialState::waiting, 125};
  BOOST_TEST((sweep.plan().find("kn8-p05")->state == TrialState::waiting));  // 125 = 1.25 x 100
  sweep.standings["kn8-p04"] = {TrialState::reached, 50, 50, 400};
  BOOST_TEST((state() == TrialState::hopeless));
  const SweepPlan plan = sweep.plan();
  for (const PlannedTrial* waiting : plan.waiting()) BOOST_TEST(waiting->name != "kn8-p01");
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
  end("kn8-p00", {TrialState::missed, 100});
  end("kn8-p01", {TrialState::diverged, 3});
  SweepPlan plan = sweep.plan();
  BOOST_TEST((plan.minibatches[1].opening == Opening{{{"lr", 0.008}}, 0}));
  sweep.open(plan);
  end("kn16-p00", {TrialState::reached, 40, 40, 640});
  end("kn16-p01", {TrialState::refused, 0});
  sweep.open(plan = sweep.plan());
  BOOST_TEST((plan.minibatches[2].opening == Opening{{{"lr", 0.008}}, 60}));
  end("kn32-p00", {TrialState::missed, 60});
  end("kn32-p01", {TrialState::missed, 60});
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
  for (const char* name : {"kn8-p00", "kn8-p01", "kn8-p02"}) sweep.standings[name] = {TrialState::failed, 0};
  BOOST_TEST(!is_opened());
  BOOST_TEST(sweep.plan().waiting().empty());
  BOOST_TEST(!sweep.plan().is_done());
  BOOST_TEST(sweep.plan().closed() == 0u);
  sweep.standings["kn8-p00"] = {TrialState::reached, 100, 100, 800};
  sweep.standings["kn8-p01"] = {TrialState::missed, 200};
  BOOST_TEST(!is_opened());
  BOOST_TEST(sweep.plan().minibatches[0].trials.size() == 3u);  // nor is a range widened, nor a seed trained
  sweep.standings["kn8-p02"] = {TrialState::refused, 0};
  BOOST_TEST(is_opened());
  sweep.open(sweep.plan());
  BOOST_TEST(sweep.plan().minibatches[0].trials.size() == 4u);
  sweep.standings["kn8-p00-seed-2"] = {TrialState::failed, 0};
  BOOST_TEST(sweep.plan().minibatches[0].is_searched);
  for (const char* name : {"kn16-p00", "kn16-p01", "kn16-p02"}) sweep.standings[name] = {TrialState::missed, 200};
  BOOST_TEST(sweep.plan().waiting().empty());
  BOOST_TEST(!sweep.plan().is_done());
}

BOOST_AUTO_TEST_CASE(the_cap_leaves_the_last_bests_steps_and_is_a_number_of_steps) {
  Simulation sweep{definition_of("lr=x0.5:2", {8, 64})};
  sweep.definition.trials = 2;
  sweep.definition.ranges[0].widens_above = sweep.definition.ranges[0].widens_below = false;
  sweep.standings["kn8-p00"] = {TrialState::reached, 101, 101, 808};
  sweep.standings["kn8-p01"] = {TrialState::missed, 300};
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
  sweep.standings["kn8-p00"] = {TrialState::reached, 100, 100, 800};
  const auto is_final = [&](const TrialStanding& standing) {
    sweep.standings["kn8-p01"] = standing;
    return sweep.plan().find("kn8-p01")->is_final();
  };
  BOOST_TEST(!is_final({TrialState::waiting, 50, 0, 0, true}));
  BOOST_TEST(!is_final({TrialState::waiting, 200}));  // the trial is hopeless but still runs
  BOOST_TEST(is_final({TrialState::waiting, 200, 0, 0, true}));
  BOOST_TEST(is_final({TrialState::missed, 200}));
  BOOST_TEST(is_final({TrialState::refused, 0}));
  BOOST_TEST(!is_final({TrialState::failed, 0}));
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
  sweep.standings["kn32-p12"] = {TrialState::reached, 10, 10, 320};
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
