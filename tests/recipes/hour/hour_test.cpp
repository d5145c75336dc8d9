// The study `hour`: its arms are command lines that the recipe takes, and its claims hold or not as they should.
#include <boost/test/unit_test.hpp>
#include <limits>
#include <random>
#include <set>
#include <sstream>

#include "recipes/config/flags.h"
#include "recipes/config/learning.h"
#include "recipes/config/run_plan.h"
#include "recipes/hour/hour_plan.h"
#include "recipes/hour/hour_report.h"
#include "recipes/papers/table.h"
#include "tests/support/support.h"

namespace kb::hour_test {
namespace {

constexpr int64_t kHourSamples = 61440;  // 15 x 4096

RunConfig config_of_arm(const HourArm& arm) {
  return *parse_flags(find_recipe("lenet_mnist"), "lenet_mnist", arm.words);
}

double rate_at(const HourArm& arm, double epoch) {
  const RunConfig config = config_of_arm(arm);
  const RunPlan plan = make_plan(config, kHourSamples);
  return make_rate({}, config.learning, plan)
      .at(static_cast<int64_t>(epoch * static_cast<double>(plan.steps_per_epoch)));
}

const HourArm& arm_of(const std::vector<HourArm>& arms, const std::string& name) {
  for (const HourArm& arm : arms)
    if (arm.name == name) return arm;
  throw std::logic_error("no arm " + name);
}

Summary of_errors(const std::vector<double>& errors) {
  std::vector<RunReport> runs;
  for (const double error : errors) {
    RunReport run;
    run.folder = "store/a-seed-1";
    run.how = error < 0 ? "diverged" : "finished";
    run.diverged = error < 0;
    run.result = error;
    run.goal_kind.is_share = true;
    runs.push_back(run);
  }
  return summary_of(std::move(runs));
}

const HourClaim& claim_of(const std::vector<HourClaim>& claims, const std::string& part) {
  for (const HourClaim& claim : claims)
    if (claim.claim.find(part) != std::string::npos) return claim;
  throw std::logic_error("no claim of " + part);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hour)

BOOST_AUTO_TEST_CASE(arms_are_flags_of_the_recipe) {
  for (const HourPlan plan : {HourPlan::brief, HourPlan::full}) {
    std::set<std::string> names;
    for (const HourArm& arm : hour_arms(plan, 12)) {
      BOOST_TEST_CONTEXT(arm.name) {
        const RunConfig config = config_of_arm(arm);
        BOOST_TEST(names.insert(arm.name).second);
        BOOST_TEST(config.batch.minibatch == arm.minibatch);
        BOOST_TEST(config.batch.per_worker == 32);
        BOOST_TEST(config.length.epochs == 12);
        BOOST_TEST(config.learning.milestones.at(0) == 4);
        BOOST_TEST(config.learning.milestones.at(1) == 8);
        BOOST_TEST(config.learning.milestones.at(2) == 10.667);
      }
    }
    BOOST_TEST(names.size() == (plan == HourPlan::brief ? 3u : 9u));
  }
}

BOOST_AUTO_TEST_CASE(rates_are_those_of_the_rule) {
  const std::vector<HourArm> arms = hour_arms(HourPlan::full, 12);
  const auto rate = [&](const char* name, double epoch) { return rate_at(arm_of(arms, name), epoch); };
  BOOST_TEST(rate("kn32", 0) == 0.025);
  BOOST_TEST(rate("kn256-gradual", 2) == 0.2, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-gradual", 0) == 0.025, boost::test_tools::tolerance(1e-12));  // the baseline's rate
  BOOST_TEST(rate("kn512-gradual", 0.5) == (0.025 + 0.4) / 2, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-gradual", 1) == 0.4, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-constant", 0.9) == 0.025, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-constant", 1) == 0.4, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-no-warmup", 0) == 0.4, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-fixed", 3) == 0.025);
  BOOST_TEST(rate("kn512-gradual", 4.5) == 0.04, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-gradual", 11.9) == 0.0004, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn1024-gradual", 2) == 0.8, boost::test_tools::tolerance(1e-12));
  const HourTrial first = trials_of_search(arm_of(arms, "kn4096-lars")).front();  // in the middle of its ranges
  BOOST_TEST(rate_at(at_trial(arm_of(arms, "kn4096-lars"), first), 3.9) == std::stod(first.values.at("lr")));
}

BOOST_AUTO_TEST_CASE(searches_are_equal) {
  const std::vector<HourArm> arms = hour_arms(HourPlan::full, 12);
  const HourArm &sgd = arm_of(arms, "kn4096-sgd"), &lars = arm_of(arms, "kn4096-lars");
  const std::vector<HourTrial> of_sgd = trials_of_search(sgd), of_lars = trials_of_search(lars);
  BOOST_REQUIRE(of_sgd.size() == 12u);
  BOOST_REQUIRE(of_lars.size() == 12u);
  for (size_t i = 0; i < of_sgd.size(); ++i) {
    BOOST_TEST(of_sgd[i].values.at("warmup-epochs") == of_lars[i].values.at("warmup-epochs"));
    BOOST_TEST(std::stod(of_lars[i].values.at("lr")) == 160 * std::stod(of_sgd[i].values.at("lr")),
               boost::test_tools::tolerance(1e-3));  // rates are written with four digits
    BOOST_TEST(parse_flags(find_recipe("lenet_mnist"), "lenet_mnist", of_lars[i].words)->judging.validation == 6000);
  }
  BOOST_TEST(trials_of_search(arm_of(arms, "kn32")).empty());
}

BOOST_AUTO_TEST_CASE(a_search_takes_the_least_error_that_is_held_out) {
  const std::vector<HourArm> arms = hour_arms(HourPlan::full, 12);
  const HourArm& arm = arm_of(arms, "kn4096-sgd");
  const std::vector<HourTrial> trials = trials_of_search(arm);
  std::map<std::string, RunReport> runs;
  BOOST_TEST(!choice_of(arm, runs).best);
  for (size_t i = 0; i < trials.size(); ++i) {
    RunReport run;
    run.diverged = i == 0;
    const double error = i == 5 || i == 7 ? 0.2 : 0.3;
    if (i > 0) run.evaluations = {{1, 1, 0, 0.1, 0}, {2, 2, 0, error, 0}};  // the last evaluation counts
    run.result = 0.01 * static_cast<double>(i);                             // the error on the test part does not count
    runs[trials[i].name] = run;
  }
  const HourChoice choice = choice_of(arm, runs);
  BOOST_TEST(choice.is_complete());
  BOOST_TEST(choice.diverged == 1u);
  BOOST_REQUIRE(choice.best.has_value());
  BOOST_TEST(choice.best->name == "kn4096-sgd-t05");
  BOOST_TEST(
      test::contains(choice_text(arm, choice), "12 trials of lr=0.00625:0.8:log warmup-epochs=0:6:linear, 1 diverged"));
  const HourArm chosen = at_trial(arm, *choice.best);
  BOOST_TEST(chosen.rate == choice.best->values.at("lr"));
  BOOST_TEST(chosen.words == choice.best->words);
  runs[trials[5].name].evaluations.clear();
  BOOST_TEST(choice_of(arm, runs).best->name == "kn4096-sgd-t07");
  runs.erase(trials[3].name);
  BOOST_TEST(!choice_of(arm, runs).is_complete());
}

BOOST_AUTO_TEST_CASE(a_difference_is_judged_by_its_interval) {
  const std::vector<double> base = {8.0, 8.1, 8.2};
  const auto verdict = [&](const std::vector<double>& errors, double margin, bool is_at_most) {
    return text_of(judge_difference(errors, base, margin, is_at_most, {3, 3}).verdict);
  };
  // Both variances are 0.01 points squared: Welch's test has 4 degrees of freedom, and half of its interval is 2.776
  // sqrt(0.02 / 3) = 0.2267 points.
  BOOST_TEST(verdict({8.3, 8.4, 8.5}, 0.53, true) == "held");
  BOOST_TEST(verdict({8.3, 8.4, 8.5}, 0.52, true) == "undecided");
  BOOST_TEST(verdict({8.3, 8.4, 8.5}, 0.08, true) == "undecided");
  BOOST_TEST(verdict({8.3, 8.4, 8.5}, 0.07, true) == "not held");
  BOOST_TEST(verdict({8.3, 8.4, 8.5}, 0.53, false) == "not held");
  BOOST_TEST(verdict({8.3, 8.4, 8.5}, 0.07, false) == "held");
  const Evidence evidence = judge_difference({8.3, 8.4, 8.5}, base, 0.5, true, {3, 3});
  BOOST_TEST(*evidence.difference == 0.3, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(evidence.low == 0.3 - 0.22669, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(evidence.high == 0.3 + 0.22669, boost::test_tools::tolerance(1e-4));
  // Seeds with equal errors tell nothing about the variance.
  BOOST_TEST(text_of(judge_difference({9, 9, 9}, {8, 8, 8}, 0.5, true, {3, 3}).verdict) == "undecided");
}

BOOST_AUTO_TEST_CASE(one_seed_is_seen_and_decides_nothing) {
  constexpr double kDiverged = std::numeric_limits<double>::infinity();
  const auto verdict = [](double error, double base, bool is_at_most) {
    return text_of(judge_difference({error}, {base}, 0.5, is_at_most, {1, 1}).verdict);
  };
  BOOST_TEST(verdict(8.4, 8, true) == "seen");
  BOOST_TEST(verdict(8.6, 8, true) == "not seen");
  BOOST_TEST(verdict(8.6, 8, false) == "seen");
  BOOST_TEST(verdict(kDiverged, 8, false) == "seen");
  BOOST_TEST(verdict(8, kDiverged, true) == "seen");
  BOOST_TEST(verdict(kDiverged, kDiverged, true) == "undecided");
}

BOOST_AUTO_TEST_CASE(all_values_count_in_any_order) {
  const Evidence first = judge_all({80, 81, 121, 120, 119, 122, 120, 121}, {100, 101}, true);
  const Evidence last = judge_all({121, 120, 119, 122, 120, 121, 80, 81}, {101, 100}, true);
  BOOST_TEST(text_of(first.verdict) == "undecided");  // two of eight lie below, though they were the first ones
  BOOST_TEST(text_of(last.verdict) == "undecided");
  BOOST_TEST(*first.difference == 10, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(first.low == last.low, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(evidence_text(first, false).ends_with(", 8 and 2 seeds"), evidence_text(first, false));
  BOOST_TEST(text_of(judge_all({1}, {2, 3}, true).verdict) == "seen");
  BOOST_TEST(text_of(judge_all({}, {2, 3}, true).verdict) == "not tested");
}

BOOST_AUTO_TEST_CASE(seeds_that_diverged_are_ranked_last) {
  constexpr double kDiverged = std::numeric_limits<double>::infinity();
  const auto judge = [](const std::vector<double>& errors) {
    return judge_difference(errors, {8.0, 8.1, 8.2, 8.3, 8.4}, 3, false, {3, 5});
  };
  // The chance that all errors of one arm rank above those of the other is 1 in 20 with three seeds each, which is more
  // than 2.5 %, and 1 in 70 with four seeds each.
  const Evidence four = judge({kDiverged, kDiverged, 12, kDiverged, 13});
  BOOST_TEST(four.is_ranked);
  BOOST_TEST(text_of(four.verdict) == "held");
  BOOST_TEST(four.seeds == 4u);
  BOOST_TEST(four.p == 1.0 / 70);
  BOOST_TEST(text_of(judge({kDiverged, kDiverged, kDiverged}).verdict) == "undecided");
  BOOST_TEST(text_of(judge({kDiverged, 8, 8, 8, 8}).verdict) == "undecided");
}

BOOST_AUTO_TEST_CASE(claims_that_are_undecided_ask_for_seeds) {
  std::map<std::string, Summary> arms = {
      {"kn32", of_errors({0.080, 0.081, 0.082})},          {"kn256-gradual", of_errors({0.080, 0.081, 0.082})},
      {"kn512-gradual", of_errors({0.083, 0.086, 0.089})}, {"kn512-fixed", of_errors({0.10, 0.101, 0.102})},
      {"kn512-no-warmup", of_errors({0.12, -1, -1})},      {"kn4096-sgd", of_errors({0.20, 0.21, 0.22})},
      {"kn4096-lars", of_errors({0.11, 0.112, 0.11})}};
  const std::vector<HourClaim> claims = hour_claims(HourPlan::full, arms, 3);
  const auto verdict = [&](const char* part) { return text_of(claim_of(claims, part).evidence.verdict); };
  BOOST_TEST(verdict("keeps the baseline's error") == "held");
  BOOST_TEST(verdict("twice as large") == "undecided");
  BOOST_TEST(verdict("at the baseline's rate") == "held");
  BOOST_TEST(verdict("without warmup") == "undecided");
  BOOST_TEST(verdict("the rule breaks") == "not tested");  // its arm is missing
  BOOST_TEST(verdict("LARS") == "held");
  BOOST_TEST(verdict("square-root") == "not tested");
  BOOST_TEST(claim_of(claims, "square-root").ours == "does not show at this size");
  for (const char* arm : {"kn32", "kn512-gradual", "kn512-no-warmup"}) BOOST_TEST(seeds_wanted(claims, arm, 3) == 4u);
  for (const char* arm : {"kn256-gradual", "kn512-fixed", "kn4096-lars", "kn1024-gradual"})
    BOOST_TEST(seeds_wanted(claims, arm, 3) == 3u);
  // A decision at the third seed stays, whatever later ones say.
  arms["kn32"] = of_errors({0.080, 0.081, 0.082, 0.12, 0.12});
  arms["kn256-gradual"] = of_errors({0.080, 0.081, 0.082, 0.2, 0.2});
  arms["kn512-gradual"] = of_errors({0.083, 0.086, 0.089, 0.121, 0.123});
  const std::vector<HourClaim> later = hour_claims(HourPlan::full, arms, 3);
  BOOST_TEST(text_of(claim_of(later, "keeps the baseline's error").evidence.verdict) == "held");
  const Evidence& last = claim_of(later, "twice").evidence;
  BOOST_TEST(text_of(last.verdict) == "undecided");
  BOOST_TEST(last.seeds == 5u);
  BOOST_TEST(seeds_wanted(later, "kn512-gradual", 3) == 5u);
  // An arm that lacks a seed is not judged.
  arms["kn4096-lars"].failed = 1;
  BOOST_TEST(text_of(claim_of(hour_claims(HourPlan::full, arms, 3), "LARS").evidence.verdict) == "not tested");
  // Fewer than three seeds get no further ones.
  for (auto& [name, summary] : arms) summary = of_errors({0.08, 0.085});
  BOOST_TEST(seeds_wanted(hour_claims(HourPlan::full, arms, 2), "kn512-gradual", 2) == 2u);
}

// Looks at three, four and five seeds are not one look at 95 % each: the first has the widest interval.
BOOST_AUTO_TEST_CASE(looks_share_five_per_cent) {
  const std::vector<double> base = {8.0, 8.1, 8.2, 8.0, 8.2}, errors = {8.3, 8.4, 8.5, 8.3, 8.5};
  const auto half = [&](Looks looks, double margin) {
    const Evidence found = judge_difference(errors, base, margin, true, looks);
    return (found.high - found.low) / 2;
  };
  // With the first three seeds the standard error is sqrt(0.02 / 3) = 0.08165 with 4 degrees of freedom, and t is 5.598
  // at 0.25 %, 2.776 at 2.5 %; with all five it is sqrt(0.02 / 5) with 8, and t is 2.535 at 1.75 %.
  BOOST_TEST(half({3, 5}, 2) == 5.598 * 0.081650, boost::test_tools::tolerance(1e-3));
  BOOST_TEST(half({3, 3}, 2) == 2.776 * 0.081650, boost::test_tools::tolerance(1e-3));
  BOOST_TEST(half({3, 5}, 0.3) == 2.5347 * 0.063246, boost::test_tools::tolerance(1e-3));
  BOOST_TEST(half({5, 5}, 0.3) == 2.306 * 0.063246, boost::test_tools::tolerance(1e-3));
}

// Simulated studies of two arms whose errors, in points, have these standard deviations and whose means differ by the
// margin, 0.5, plus `off`. `diverges`: probability that a run diverges.
struct SimulatedStudies {
  double deviation, of_reference, off = 0, diverges = 0;
};

struct JudgedStudies {
  int held = 0, not_held = 0, covered = 0;  // covered: intervals that hold the true difference
};

JudgedStudies judged(const SimulatedStudies& of, int studies) {
  std::mt19937_64 random(33);
  std::normal_distribution<double> noise;
  std::uniform_real_distribution<double> chance;
  const auto run = [&](double mean, double deviation) {
    const double error = mean + deviation * noise(random);
    return of.diverges > 0 && chance(random) < of.diverges ? std::numeric_limits<double>::infinity() : error;
  };
  JudgedStudies counts;
  for (int study = 0; study < studies; ++study) {
    std::vector<double> errors, reference;
    for (size_t seed = 0; seed < kMostHourSeeds; ++seed) {
      errors.push_back(run(8.5 + of.off, of.deviation));
      reference.push_back(run(8, of.of_reference));
    }
    const Evidence found = judge_difference(errors, reference, 0.5, true, {kFewestHourLooks, kMostHourSeeds});
    counts.held += found.verdict == Verdict::held;
    counts.not_held += found.verdict == Verdict::not_held;
    counts.covered += found.low <= 0.5 + of.off && 0.5 + of.off <= found.high;
  }
  return counts;
}

BOOST_AUTO_TEST_CASE(at_its_margin_a_claim_is_seldom_decided_and_half_a_point_off_mostly) {
  // kWrong: 2.5 % of the studies and three standard errors, on each side, over all looks. kCovered: 95 % less three.
  constexpr int kStudies = 1000, kWrong = 40, kCovered = 929;
  for (const auto& [arm, reference] : {std::pair{0.3, 0.3}, {0.3, 0.1}, {0.1, 0.3}, {0.1, 0.1}}) {
    const JudgedStudies at = judged({arm, reference}, kStudies), above = judged({arm, reference, 0.5}, kStudies),
                        below = judged({arm, reference, -0.5}, kStudies);
    BOOST_TEST_MESSAGE("deviations " << arm << " and " << reference << ": at the margin held " << at.held
                                     << ", not held " << at.not_held << ", covered " << at.covered
                                     << "; 0.5 points off decided " << above.not_held << ", " << below.held
                                     << ", covered " << above.covered << ", " << below.covered << " of " << kStudies);
    BOOST_TEST(at.held <= kWrong);
    BOOST_TEST(at.not_held <= kWrong);
    for (const JudgedStudies& studies : {at, above, below}) BOOST_TEST(studies.covered >= kCovered);
    BOOST_TEST(above.held + below.not_held == 0);
    if (arm + reference < 0.6) {  // at 0.3 and 0.3 the counts are only printed
      BOOST_TEST(above.not_held >= kStudies * 68 / 100);
      BOOST_TEST(below.held >= kStudies * 68 / 100);
    }
  }
}

BOOST_AUTO_TEST_CASE(runs_that_diverge_by_chance_decide_seldom) {
  constexpr int kStudies = 1000, kWrong = 40;
  for (const double diverges : {0.05, 0.3, 0.7}) {
    const JudgedStudies at = judged({0.3, 0.3, 0, diverges}, kStudies);
    BOOST_TEST_MESSAGE(diverges << " diverge: held " << at.held << ", not held " << at.not_held << " of " << kStudies);
    BOOST_TEST(at.held <= kWrong);
    BOOST_TEST(at.not_held <= kWrong);
  }
}

BOOST_AUTO_TEST_CASE(what_is_printed_fits_a_terminal_of_80_columns) {
  HourReport report{"title", "./run hour", hour_arms(HourPlan::full, 12), {}, {}, {}};
  for (const HourArm& arm : report.arms) report.results[arm.name] = of_errors({0.09, 0.1234, 0.10});
  report.claims = hour_claims(HourPlan::full, report.results, 3);
  std::istringstream lines(hour_table(report) + hour_searches_text(report) + hour_claims_text(report) +
                           hour_intervals_text(report));
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 80u, line);
}

BOOST_AUTO_TEST_CASE(the_brief_study_names_the_full_one) {
  const std::string next = hour_next(HourPlan::brief);
  BOOST_TEST(test::contains(next, "./run get fashion-mnist datasets\n"));
  BOOST_TEST(test::contains(next, "./run hour --dataset fashion-mnist --data datasets"));
  BOOST_TEST(hour_next(HourPlan::full).empty());
}

BOOST_AUTO_TEST_CASE(the_page_holds_all_and_loads_nothing) {
  HourReport report{"title <1>",
                    "./run hour",
                    hour_arms(HourPlan::brief, 12),
                    {"kn4096-lars: 12 trials of lr=1:128:log warmup-epochs=0:6:linear"},
                    {},
                    {}};
  report.results["kn32"] = of_errors({0.09, 0.10});
  report.claims = hour_claims(HourPlan::brief, report.results, 1);
  const std::string page = hour_page(report, "<svg></svg>");
  for (const char* part : {"title &lt;1&gt;", "9.50 +- 0.71 %", "not trained", "<svg></svg>", "41.67", "not tested",
                           "Search kn4096-lars: 12 trials"})
    BOOST_TEST(test::contains(page, part));
  for (const char* part : {"http:", "https:", "<script", "@import"}) BOOST_TEST(!test::contains(page, part), part);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::hour_test
