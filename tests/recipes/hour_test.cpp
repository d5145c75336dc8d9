// The study `hour`: its arms are command lines that the recipe takes, and its claims hold or not as they should.
#include <boost/test/unit_test.hpp>
#include <set>
#include <sstream>

#include "recipes/config/flags.h"
#include "recipes/config/learning.h"
#include "recipes/config/plan.h"
#include "recipes/hour/hour_report.h"
#include "recipes/papers/table.h"

namespace kb::hour_test {
namespace {

constexpr int64_t kHourSamples = 61440;  // 15 x 4096

RunConfig config_of_arm(const HourArm& arm) {
  return *parse_flags(find_recipe("lenet_mnist"), "lenet_mnist", arm.words);
}

double rate_at(const HourArm& arm, double epoch) {
  const RunConfig config = config_of_arm(arm);
  const RunPlan plan = make_plan(config, kHourSamples);
  return make_rate(config, plan).at(static_cast<int64_t>(epoch * static_cast<double>(plan.steps_per_epoch)));
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
        BOOST_TEST(config.minibatch == arm.minibatch);
        BOOST_TEST(config.per_worker == 32);
        BOOST_TEST(config.epochs == 12);
        BOOST_TEST(config.milestones.at(0) == 4);
        BOOST_TEST(config.milestones.at(1) == 8);
        BOOST_TEST(config.milestones.at(2) == 10.667);
      }
    }
    BOOST_TEST(names.size() == (plan == HourPlan::brief ? 3u : 11u));
  }
}

BOOST_AUTO_TEST_CASE(rates_are_those_of_the_rule) {
  const std::vector<HourArm> arms = hour_arms(HourPlan::full, 12);
  const auto rate = [&](const char* name, double epoch) { return rate_at(arm_of(arms, name), epoch); };
  BOOST_TEST(rate("kn32", 0) == 0.025);
  BOOST_TEST(rate("kn256-gradual", 2) == 0.2, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-gradual", 0) == 0.025, boost::test_tools::tolerance(1e-12));  // from the baseline's rate
  BOOST_TEST(rate("kn512-gradual", 0.5) == (0.025 + 0.4) / 2, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-gradual", 1) == 0.4, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-constant", 0.9) == 0.025, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-constant", 1) == 0.4, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-no-warmup", 0) == 0.4, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-fixed", 3) == 0.025);
  BOOST_TEST(rate("kn512-gradual", 4.5) == 0.04, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn512-gradual", 11.9) == 0.0004, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn1024-gradual", 2) == 0.8, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate("kn4096-lars", 3) == 20);
}

BOOST_AUTO_TEST_CASE(claims_are_judged_by_their_criteria) {
  std::map<std::string, Summary> arms = {{"kn32", of_errors({0.09, 0.10})},
                                         {"kn256-gradual", of_errors({0.0999, 0.0999})},
                                         {"kn512-gradual", of_errors({0.1001, 0.1001})},
                                         {"kn512-fixed", of_errors({0.10, 0.12})},
                                         {"kn512-no-warmup", of_errors({0.09, -1})},
                                         {"kn512-constant", of_errors({0.12, 0.12})},
                                         {"kn4096-sgd-0.1", of_errors({0.20})},
                                         {"kn4096-sgd-0.2", of_errors({-1})},
                                         {"kn4096-sgd-0.4", of_errors({0.15})},
                                         {"kn4096-lars", of_errors({0.11})}};
  const std::vector<HourClaim> claims = hour_claims(HourPlan::full, arms);
  const auto verdict = [&](const char* part) { return text_of(claim_of(claims, part).verdict); };
  BOOST_TEST(verdict("keeps the baseline's error") == "held");
  BOOST_TEST(verdict("twice as large") == "not held");
  BOOST_TEST(verdict("at the baseline's rate") == "held");
  BOOST_TEST(verdict("without warmup") == "held");  // a seed diverged
  BOOST_TEST(verdict("with constant warmup") == "not held");
  BOOST_TEST(verdict("the rule breaks") == "not tested");  // its arm is missing
  BOOST_TEST(verdict("LARS") == "held");
  BOOST_TEST(verdict("square-root") == "not tested");
  arms["kn4096-lars"] = of_errors({0.1201});
  BOOST_TEST(text_of(claim_of(hour_claims(HourPlan::full, arms), "LARS").verdict) == "not held");
  // SGD at a rate of which one seed diverged counts by the others; an arm that lacks a seed is not judged.
  arms["kn4096-lars"] = of_errors({0.109});
  arms["kn4096-sgd-0.4"] = of_errors({0.11, 0.112, -1});
  BOOST_TEST(text_of(claim_of(hour_claims(HourPlan::full, arms), "LARS").verdict) == "not held");
  arms["kn4096-sgd-0.4"] = of_errors({0.20});
  BOOST_TEST(text_of(claim_of(hour_claims(HourPlan::full, arms), "LARS").verdict) == "held");
  arms["kn4096-lars"].failed = 1;
  BOOST_TEST(text_of(claim_of(hour_claims(HourPlan::full, arms), "LARS").verdict) == "not tested");
  arms["kn32"] = of_errors({-1, 0.09});
  BOOST_TEST(text_of(claim_of(hour_claims(HourPlan::full, arms), "twice").verdict) == "not tested");
}

BOOST_AUTO_TEST_CASE(what_is_printed_fits_a_terminal_of_80_columns) {
  HourReport report{"title", "./run hour", hour_arms(HourPlan::full, 12), {}, {}};
  for (const HourArm& arm : report.arms) report.results[arm.name] = of_errors({0.09, 0.1234, 0.10});
  report.claims = hour_claims(HourPlan::full, report.results);
  std::istringstream lines(hour_table(report) + hour_claims_text(report));
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 80u, line);
}

BOOST_AUTO_TEST_CASE(the_brief_study_names_the_full_one) {
  const std::string next = hour_next(HourPlan::brief);
  BOOST_TEST(next.find("./run get fashion-mnist datasets\n") != next.npos);
  BOOST_TEST(next.find("./run hour --dataset fashion-mnist --data datasets") != next.npos);
  BOOST_TEST(hour_next(HourPlan::full).empty());
}

BOOST_AUTO_TEST_CASE(the_page_holds_all_and_loads_nothing) {
  HourReport report{"title <1>", "./run hour", hour_arms(HourPlan::brief, 12), {}, {}};
  report.results["kn32"] = of_errors({0.09, 0.10});
  report.claims = hour_claims(HourPlan::brief, report.results);
  const std::string page = hour_page(report, "<svg></svg>");
  for (const char* part : {"title &lt;1&gt;", "9.50 +- 0.71 %", "not trained", "<svg></svg>", "41.67", "not tested"})
    BOOST_TEST(page.find(part) != std::string::npos, part);
  for (const char* part : {"http:", "https:", "<script", "@import"})
    BOOST_TEST(page.find(part) == std::string::npos, part);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::hour_test
