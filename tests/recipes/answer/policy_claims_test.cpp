// Claims about policies, judged by made-up studies; curves by setting; virtual time and bytes side by side.
#include "recipes/answer/policy_claims.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/error.h"
#include "recipes/answer/measurements.h"
#include "recipes/answer/policy_costs.h"
#include "recipes/answer/side_by_side.h"
#include "recipes/trials/judged_claim.h"
#include "runtime/process.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::policy_claims_test {
namespace {

// Runs of a policy at one minibatch: their mean steps, and virtual seconds of a step (0: no clock). Steps of 0 mean
// that the target was missed.
struct MadeRuns {
  std::string policy;
  int64_t minibatch = 0;
  double steps = 0, step_s = 0;
  int seeds = 3;
};

// Returns a table in which the seeds' steps are 1 % below the mean, at it, and 1 % above, in another order at another
// minibatch.
std::string table_of(const std::vector<MadeRuns>& all) {
  std::string table = "minibatch,rate,setting,seed,steps,policy,clock_s,sent_bytes\n";
  for (const MadeRuns& one : all)
    for (int seed = 1; seed <= one.seeds; ++seed) {
      const double steps = one.steps * (1 + 0.01 * ((seed + 1 + one.minibatch / 256) % 3 - 1));
      table += fmt::format("{},0.1,{},{},{},per-worker=32 {},{},{}\n", one.minibatch, one.policy, seed,
                           steps > 0 ? fmt::to_string(steps) : "", one.policy,
                           one.step_s > 0 ? fmt::to_string(one.step_s * steps) : "", 1000 * std::max(steps, 1.0));
    }
  return table;
}

std::vector<Measurement> runs_of(const std::string& table) { return parse_measurement_table(table, "made.csv").runs; }

std::vector<NamedStudy> studies_of_runs(std::vector<Measurement> all) {
  std::vector<NamedStudy> studies;
  for (const auto& [name, runs] : runs_by_setting({"made", std::move(all)}))
    studies.push_back({name, answer_or_missed(runs, {}), {}, effort_of(runs), "made"});
  return studies;
}
std::vector<NamedStudy> studies_of(const std::vector<MadeRuns>& all) { return studies_of_runs(runs_of(table_of(all))); }

JudgedClaim judged(PolicyClaim claim, const std::vector<MadeRuns>& all) {
  return policy_claims(studies_of(all)).at(static_cast<size_t>(claim));
}
std::string verdict(PolicyClaim claim, const std::vector<MadeRuns>& all) {
  return text_of(judged(claim, all).evidence.verdict);
}

constexpr const char *kNesterov = "policy=local replicas=1 every=8 outer=nesterov", *kAsync = "policy=async",
                     *kInverse = "policy=async stale-rate=inverse", *kBackup = "policy=backup backups=1",
                     *kSyncOnClock = "policy=backup backups=0";

}  // namespace

BOOST_AUTO_TEST_SUITE(policy_claims_suite)

BOOST_AUTO_TEST_CASE(every_claim_is_stated_and_says_what_is_missing) {
  const std::vector<JudgedClaim> claims = policy_claims(studies_of({{"policy=sync", 128, 300}}));
  BOOST_REQUIRE(claims.size() == 7u);
  for (size_t i = 0; i < claims.size(); ++i) {
    BOOST_TEST(claims[i].claim == stated(static_cast<PolicyClaim>(i)).claim);
    BOOST_TEST(text_of(claims[i].evidence.verdict) == "not tested");
    BOOST_TEST(!claims[i].ours.empty());
  }
  BOOST_TEST(claims[0].ours == "final errors are compared by ./run compare RUN...");
  BOOST_TEST(claims[2].ours ==
             "no runs of outer Nesterov with one replica (--policy local --replicas 1 --outer nesterov)");
  BOOST_TEST(claims[4].ours ==
             "no runs of backup workers (--policy backup), nor of async (--policy async), nor of sync on the virtual "
             "clock (--policy backup --backups 0)");
}

// Policies that differ from those of a claim in one flag are none of it.
BOOST_AUTO_TEST_CASE(a_policy_of_other_flags_is_none_of_the_claim) {
  const auto nesterov = [](const char* policy) {
    return judged(PolicyClaim::outer_nesterov,
                  {{"policy=sync", 128, 400}, {"policy=sync", 512, 200}, {policy, 128, 300}, {policy, 512, 90}});
  };
  for (const char* policy : {"policy=local replicas=1 every=8 outer=momentum", "policy=sync momentum=0.5",
                             "policy=local replicas=1 every=8 outer=nesterov from=1ep"})
    BOOST_TEST(nesterov(policy).ours.starts_with("no runs of outer Nesterov"), policy);
  BOOST_TEST(nesterov(kNesterov).ours.starts_with("S(512)"));
  for (const char* policy : {"policy=async momentum-at=worker", "policy=async stale-rate=inverse"}) {
    std::vector<MadeRuns> all;
    for (const int minibatch : {128, 512})
      for (const char* momentum : {"0", "0.5"})
        all.push_back({fmt::format("{} momentum={}", policy, momentum), minibatch, 100});
    BOOST_TEST(judged(PolicyClaim::momentum, all).ours.starts_with("fewer than two k"), policy);
  }
  BOOST_TEST(test::contains(
      judged(PolicyClaim::backups,
             {{kBackup, 512, 100, 1}, {"policy=async per-worker=64", 512, 100, 1.2}, {kSyncOnClock, 512, 100, 1.3}})
          .ours,
      "differ in --times, --times-net or --per-worker"));
}

BOOST_AUTO_TEST_CASE(the_growth_of_steps_is_compared_with_that_of_sync) {
  const auto verdict_at = [](double outer, double sync, int seeds = 3) {
    return verdict(PolicyClaim::outer_nesterov, {{"policy=sync", 128, 400, 0, seeds},
                                                 {"policy=sync", 512, 400 * sync, 0, seeds},
                                                 {kNesterov, 128, 300, 0, seeds},
                                                 {kNesterov, 512, 300 * outer, 0, seeds}});
  };
  BOOST_TEST(verdict_at(0.3, 0.5) == "held");
  BOOST_TEST(verdict_at(0.5, 0.3) == "not held");
  BOOST_TEST(verdict_at(0.4, 0.401) == "undecided");
  BOOST_TEST(verdict_at(0.3, 0.5, 1) == "seen");
  const JudgedClaim claim =
      judged(PolicyClaim::outer_nesterov,
             {{"policy=sync", 128, 400}, {"policy=sync", 512, 200}, {kNesterov, 128, 300}, {kNesterov, 512, 90}});
  BOOST_TEST(std::exp(*claim.evidence.difference) == 0.3 / 0.5, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(claim.ours.starts_with("S(512) / S(128) is 0.3, 0.5 with sync: x 0.6 ("), claim.ours);
  BOOST_TEST(judged(PolicyClaim::outer_nesterov, {{"policy=sync", 128, 400}, {kNesterov, 512, 300}}).ours ==
             "no minibatch kn at which all runs of both reached the target, and which were trained at 4 kn");
  BOOST_TEST(
      judged(PolicyClaim::outer_nesterov, {{"policy=sync", 128, 400}, {kNesterov, 128, 300}, {kNesterov, 512, 90}})
          .ours.starts_with("no minibatch kn"));
  // Sync never reached the target at 4 kn: that is worse than any growth, which one seed shows and three do not tell.
  BOOST_TEST(verdict_at(0.3, 0, 1) == "seen");
  // Outer Nesterov never reached it at kn.
  BOOST_TEST(judged(PolicyClaim::outer_nesterov,
                    {{"policy=sync", 128, 400}, {"policy=sync", 512, 200}, {kNesterov, 128, 0}, {kNesterov, 512, 90}})
                 .ours.starts_with("no minibatch kn at which all runs of both reached"));
}

// Without the run that missed the target, S(128) of outer Nesterov would be too low, and its growth too high.
BOOST_AUTO_TEST_CASE(a_growth_is_not_told_from_a_minibatch_that_runs_missed_the_target_at) {
  std::string table = "minibatch,rate,setting,seed,steps,samples,reached\n";
  for (const char* policy : {"policy=sync", kNesterov})
    for (const int minibatch : {32, 128, 512})
      for (int seed = 1; seed <= 5; ++seed) {
        const bool is_missed = policy == kNesterov && minibatch == 128 && seed > 3;
        const double steps = 64000.0 / minibatch * (1 + 0.01 * seed);
        table += fmt::format("{},0.1,{},{},{},{},{:d}\n", minibatch, policy, seed,
                             is_missed ? "" : fmt::to_string(steps), steps * minibatch, !is_missed);
      }
  const JudgedClaim claim =
      policy_claims(studies_of_runs(runs_of(table))).at(static_cast<size_t>(PolicyClaim::outer_nesterov));
  BOOST_TEST(claim.ours.starts_with("S(128) / S(32) is "), claim.ours);
}

// One of three runs was given up after 130 steps. The study's mean counts it as one of more steps.
BOOST_AUTO_TEST_CASE(points_have_the_steps_of_the_study) {
  const std::vector<NamedStudy> studies =
      studies_of_runs(runs_of("minibatch,rate,setting,seed,steps,reached\n128,0.1,policy=sync,1,100,1\n"
                              "128,0.1,policy=sync,2,110,1\n128,0.1,policy=sync,3,130,0\n"));
  const PolicyPoints points(studies);
  BOOST_REQUIRE(points.tried().size() == 1u);
  BOOST_TEST(points.tried()[0].steps == studies[0].answer.best.at(0).steps, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(points.tried()[0].steps > std::cbrt(100.0 * 110 * 130));
}

// The claim would be held if the first two runs of each counted alone.
BOOST_AUTO_TEST_CASE(all_runs_count_in_any_order) {
  const auto verdict_of = [](std::vector<double> outer) {
    const GrowthSample sync{{std::log(100), std::log(101)}, {std::log(100), std::log(101)}};
    GrowthSample growth{{std::log(100), std::log(101)}, {}};
    for (const double steps : outer) growth.to.push_back(std::log(steps));
    const Evidence evidence = judge_growth(growth, sync);
    BOOST_TEST(evidence.seeds == 2u);
    return text_of(evidence.verdict);
  };
  BOOST_TEST(verdict_of({80, 81, 121, 120, 119, 122, 120, 121}) == "undecided");
  BOOST_TEST(verdict_of({121, 120, 119, 122, 120, 121, 80, 81}) == "undecided");
  BOOST_TEST(verdict_of({121, 120, 119, 122, 120, 121, 120, 121}) == "not held");
  const auto stale_rate = [](const std::string& steps) {
    std::string table = "minibatch,rate,setting,steps\n";
    for (const char* plain : {"100", "101"}) table += fmt::format("512,0.1,{},{}\n", kAsync, plain);
    std::istringstream words(steps);
    for (std::string word; words >> word;) table += fmt::format("512,0.1,{},{}\n", kInverse, word);
    std::vector<NamedStudy> studies;
    for (const auto& [name, runs] : runs_by_setting({"made", parse_measurement_table(table, "made.csv").runs}))
      studies.push_back({name, answer_or_missed(runs, {}), {}, effort_of(runs), "made"});
    return policy_claims(studies).at(static_cast<size_t>(PolicyClaim::stale_rate));
  };
  const JudgedClaim first = stale_rate("80 81 121 120 119 122 120 121"),
                    last = stale_rate("121 120 119 122 120 121 80 81");
  BOOST_TEST(text_of(first.evidence.verdict) == "undecided");
  BOOST_TEST(first.ours == last.ours);
  BOOST_TEST(first.ours.ends_with(", 8 and 2 seeds"), first.ours);
}

BOOST_AUTO_TEST_CASE(backups_are_compared_in_virtual_time) {
  const auto verdict_of = [](double backup_s, double async_s, double sync_s) {
    return verdict(PolicyClaim::backups,
                   {{kBackup, 512, 100, backup_s}, {kAsync, 512, 100, async_s}, {kSyncOnClock, 512, 100, sync_s}});
  };
  BOOST_TEST(verdict_of(1, 1.2, 1.3) == "held");
  BOOST_TEST(verdict_of(1, 0.8, 1.3) == "not held");
  BOOST_TEST(verdict_of(1, 1.2, 0.8) == "not held");
  BOOST_TEST(verdict_of(1, 1.001, 1.3) == "undecided");
  BOOST_TEST(verdict_of(1, 0, 1.3) == "not tested");  // async has no clock
  const JudgedClaim other = judged(
      PolicyClaim::backups,
      {{kBackup, 512, 100, 1}, {kAsync, 512, 100, 1.2}, {"policy=backup backups=0 times=constant", 512, 100, 1.3}});
  BOOST_TEST(text_of(other.evidence.verdict) == "not tested");
  BOOST_TEST(test::contains(other.ours, "differ in --times"));
}

BOOST_AUTO_TEST_CASE(rates_over_the_staleness_are_compared_in_steps) {
  const auto verdict_of = [](double inverse, double plain) {
    return verdict(PolicyClaim::stale_rate, {{kInverse, 512, inverse}, {kAsync, 512, plain}});
  };
  BOOST_TEST(verdict_of(100, 120) == "held");
  BOOST_TEST(verdict_of(120, 100) == "not held");
  BOOST_TEST(verdict_of(100, 100) == "undecided");
  const std::string chosen = judged(PolicyClaim::stale_rate,
                                    {{kInverse, 512, 100}, {kAsync, 512, 120}, {"policy=async momentum=0.5", 512, 130}})
                                 .ours;
  BOOST_TEST(chosen.ends_with(", 3 seeds, best of 1 and 2 settings"), chosen);
  BOOST_TEST(judged(PolicyClaim::stale_rate, {{kInverse, 512, 100}, {kAsync, 128, 100}}).ours ==
             "no minibatch that all of its policies were trained at");
}

BOOST_AUTO_TEST_CASE(outer_rates_are_in_order_where_seeds_tell_the_last_from_the_first) {
  const auto runs = [](const std::vector<std::pair<int, double>>& best, double excess) {
    std::vector<MadeRuns> all;
    for (const auto& [replicas, rate] : best)
      for (const double tried : {0.4, 0.6, 0.8})
        all.push_back({fmt::format("policy=local replicas={} every=8 outer=nesterov outer-lr={}", replicas, tried), 512,
                       tried == rate ? 100 : 100 * excess});
    return all;
  };
  const auto verdict_of = [&](const std::vector<std::pair<int, double>>& best, double excess = 1.2) {
    return verdict(PolicyClaim::outer_rate, runs(best, excess));
  };
  BOOST_TEST(verdict_of({{1, 0.4}, {4, 0.6}, {8, 0.8}}) == "held");
  BOOST_TEST(verdict_of({{1, 0.4}, {4, 0.4}, {8, 0.8}}) == "held");
  BOOST_TEST(verdict_of({{1, 0.8}, {4, 0.6}, {8, 0.4}}) == "not held");
  BOOST_TEST(verdict_of({{1, 0.4}, {4, 0.8}, {8, 0.6}}) == "not held");
  BOOST_TEST(verdict_of({{1, 0.4}, {8, 0.4}}) == "undecided");
  BOOST_TEST(verdict_of({{1, 0.4}, {8, 0.8}}, 1.001) == "undecided");
  BOOST_TEST(verdict_of({{1, 0.4}}) == "not tested");
  BOOST_TEST(judged(PolicyClaim::outer_rate, runs({{1, 0.4}, {8, 0.8}}, 1.2))
                 .ours.starts_with("outer-lr R 1: 0.4, R 8: 0.8; with R 8 its steps over those of 0.4 x 0.833 ("));
}

BOOST_AUTO_TEST_CASE(the_best_momentum_is_to_fall) {
  const auto verdict_of = [](double at_4, double at_16) {
    std::vector<MadeRuns> all;
    for (const auto& [minibatch, best] : {std::pair{128, at_4}, {512, at_16}})
      for (const double tried : {0.0, 0.5, 0.9})
        all.push_back({fmt::format("policy=async momentum={}", tried), minibatch, tried == best ? 100.0 : 130.0});
    return verdict(PolicyClaim::momentum, all);
  };
  BOOST_TEST(verdict_of(0.9, 0.5) == "held");
  BOOST_TEST(verdict_of(0.5, 0.9) == "not held");
  BOOST_TEST(verdict_of(0.5, 0.5) == "undecided");
}

BOOST_AUTO_TEST_CASE(a_value_at_which_half_of_the_runs_missed_the_target_is_not_the_best) {
  std::vector<MadeRuns> all;
  for (const int minibatch : {128, 512})
    for (const auto& [momentum, steps] : {std::pair("0", 130), {"0.5", 100}})
      all.push_back({fmt::format("policy=async momentum={}", momentum), minibatch, 1.0 * steps, 0, 2});
  std::vector<Measurement> runs = runs_of(table_of(all));
  runs.back().steps.reset();
  const std::string ours = policy_claims(studies_of_runs(runs)).at(static_cast<size_t>(PolicyClaim::momentum)).ours;
  BOOST_TEST(ours.starts_with("momentum k 4: 0.5, k 16: 0;"), ours);
}

BOOST_AUTO_TEST_CASE(a_setting_that_never_reached_the_target_is_a_result) {
  const std::vector<NamedStudy> studies = studies_of({{"policy=sync", 128, 300}, {kAsync, 128, 0}});
  BOOST_REQUIRE(studies.size() == 2u);
  BOOST_TEST(studies[0].name == "made: policy=async");
  BOOST_TEST(studies[0].answer.best.empty());
  check_reached(studies);
  const std::string text = side_by_side_text(studies);
  for (const char* part : {"no fit: no minibatch reached the target", "target not reached in 3 runs", "policy  "})
    BOOST_TEST(test::contains(text, part));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) BOOST_TEST(line.size() <= 80u, line);
  BOOST_CHECK_EXCEPTION(check_reached(studies_of({{kAsync, 128, 0}})), Error, test::says("got none of made"));
  BOOST_TEST(check_side_by_side(studies).size() == 1u);  // one line about the table
}

BOOST_AUTO_TEST_CASE(settings_are_told_apart_and_have_a_bound) {
  const auto with = [](int settings) {
    NamedRuns all{"made", {}};
    for (int i = 0; i < settings; ++i) {
      Measurement run{8, {}, {}, 5};
      run.setting = fmt::to_string(i);
      all.runs.push_back(std::move(run));
    }
    return all;
  };
  BOOST_TEST(runs_by_setting(with(1)).front().name == "made");
  BOOST_TEST(runs_by_setting(with(2)).back().name == "made: 1");
  BOOST_CHECK_EXCEPTION(runs_by_setting(with(33)), Error,
                        test::says("--by-setting: made", "at most 32 values of the column setting, got 33", "a list"));
  std::vector<NamedRuns> settings = runs_by_setting(with(2));
  BOOST_TEST(stopped_notes(settings).empty());
  settings[1].runs[0].hopeless = true;
  BOOST_TEST(stopped_notes(settings).empty());  // it reached the target all the same
  settings[1].runs[0].steps.reset();
  BOOST_TEST(stopped_notes(settings).front().starts_with(
      "made: 1: no run reached the target at minibatch 8, where 1 were stopped as slower"));
}

BOOST_AUTO_TEST_CASE(costs_have_intervals_and_units) {
  const std::vector<NamedStudy> studies =
      studies_of({{"policy=sync", 128, 300}, {kAsync, 128, 300, 2}, {kAsync, 512, 100, 3}});
  const std::vector<PolicyCost> costs = policy_costs(studies[0].answer);
  BOOST_REQUIRE(costs.size() == 2u);
  BOOST_TEST(costs[0].seconds.value() == 600, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(costs[0].interval->low < 600);
  BOOST_TEST(costs[0].interval->low > 580);
  BOOST_TEST(costs[1].seconds.value() == 300, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(costs[0].sent_bytes.value() == 300e3, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(!policy_costs(studies[1].answer)[0].seconds);
  std::vector<Measurement> runs = runs_of(table_of({{kAsync, 128, 300, 2}}));
  Measurement missed = runs[0];
  missed.steps.reset(), missed.sent_bytes = 1e9;
  runs.push_back(missed);  // what a run that missed the target sent is no cost of reaching it
  BOOST_TEST(policy_costs(answer_or_missed(runs, {}))[0].sent_bytes.value() == 300e3,
             boost::test_tools::tolerance(1e-12));
  runs[1].sent_bytes.reset();
  BOOST_TEST(!policy_costs(answer_or_missed(runs, {}))[0].sent_bytes);
  BOOST_TEST(test::contains(costs_text(studies[0].answer), "10.0 min ["));
  const nlohmann::json json = nlohmann::json::parse(side_by_side_json(studies, "./run study"));
  BOOST_TEST(json["studies"][0]["policy"] == "async");
  BOOST_TEST(json["studies"][0]["costs"][1]["virtual_s"].get<double>() == 300, boost::test_tools::tolerance(1e-4));
  BOOST_TEST(json["studies"][1]["costs"][0]["virtual_s"].is_null());
  BOOST_TEST(json["claims"].size() == 7u);
  BOOST_TEST(json["claims"][5]["verdict"] == "not tested");
  const std::string page = side_by_side_page(studies, "./run study", side_by_side_figures(studies));
  for (const char* part : {"<h2>Policies</h2>", "300 kB", "not tested"}) BOOST_TEST(test::contains(page, part));
}

BOOST_AUTO_TEST_CASE(studies_of_sync_alone_stay_as_they_were) {
  const std::vector<NamedStudy> studies = studies_of({{"momentum=0.5", 128, 300}, {"momentum=0.9", 128, 200}});
  BOOST_TEST(!test::contains(side_by_side_text(studies), "not tested"));
  BOOST_TEST(!nlohmann::json::parse(side_by_side_json(studies, "")).contains("claims"));
}

BOOST_AUTO_TEST_CASE(policies_outlast_the_table) {
  const std::vector<Measurement> runs = runs_of(table_of({{kBackup, 512, 100, 2}, {"policy=sync", 512, 90}}));
  const std::string table = measurement_table(runs);
  BOOST_TEST(table == measurement_table(parse_measurement_table(table, "again.csv").runs));
  BOOST_TEST(test::contains(table, "policy=backup per-worker=32,198,99000\n"));
}

BOOST_AUTO_TEST_CASE(the_program_makes_a_study_of_each_setting) {
  const test::TemporaryDirectory directory;
  test::write_file(directory / "made.csv", table_of({{"policy=sync", 512, 90}, {kAsync, 512, 100, 1}}));
  const ProcessResult result = Process({KB_BIN "/study", (directory / "made.csv").string(), "--by-setting", "--out",
                                        (directory / "out").string()})
                                   .wait();
  BOOST_TEST(result.status == 0, result.output);
  for (const char* part : {"made: policy=async\n", "made: policy=sync\n", "NOTE: made: a table", "not tested"})
    BOOST_TEST(test::contains(result.output, part));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::policy_claims_test
