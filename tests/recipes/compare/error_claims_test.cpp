// Claims about final errors, judged by made-up runs.
#include "recipes/compare/error_claims.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "runtime/process.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::error_claims_test {
namespace {

struct MadeRun {
  std::string policy;
  double error = 0;  // a share; negative: diverged
  int64_t minibatch = 512;
  std::string rate = "0.4", epochs = "12", how = "finished";
};

// Returns runs under seeds 1, 2, ... in their order.
std::vector<ReportedRun> reported(const std::vector<MadeRun>& all) {
  std::vector<ReportedRun> runs;
  for (const MadeRun& made : all) {
    ReportedRun one;
    one.run.folder = fmt::format("runs/{}", runs.size());
    one.run.recipe = "net";
    one.run.minibatch = made.minibatch;
    one.run.rate = std::stod(made.rate);
    one.run.how = made.error < 0 ? "diverged" : made.how;
    one.run.diverged = made.error < 0;
    one.run.result = made.error;
    one.run.goal_kind.is_share = true;
    set_policy_words(one.run.policy, made.policy);
    one.flags = {{"policy", made.policy},
                 {"minibatch", fmt::to_string(made.minibatch)},
                 {"lr", made.rate},
                 {"epochs", made.epochs},
                 {"seed", fmt::to_string(runs.size())}};
    runs.push_back(std::move(one));
  }
  return runs;
}

// Returns three runs whose errors lie 0.1 points below the mean, at it, and 0.1 points above.
std::vector<MadeRun> around(const std::string& policy, double percent) {
  std::vector<MadeRun> runs;
  for (const double off : {-0.1, 0.0, 0.1}) runs.push_back({policy, (percent + off) / 100});
  return runs;
}

using Runs = std::vector<std::vector<MadeRun>>;
std::vector<JudgedClaim> claims_of(const Runs& parts) {
  std::vector<MadeRun> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return error_claims(policy_groups(reported(all)).groups);
}

constexpr const char *kPost = "policy=local replicas=16 every=16 from=4ep",
                     *kLocal = "policy=local replicas=16 every=8",
                     *kSlow = "policy=local replicas=16 every=8 outer=momentum outer-momentum=0.6";

}  // namespace

BOOST_AUTO_TEST_SUITE(error_claims_suite)

BOOST_AUTO_TEST_CASE(post_local_is_judged_against_the_large_minibatch) {
  const auto verdict = [](double post, double sync) {
    return text_of(claims_of({around(kPost, post), around("policy=sync", sync)})[0].evidence.verdict);
  };
  BOOST_TEST(verdict(8, 9) == "held");
  BOOST_TEST(verdict(9, 8) == "not held");
  BOOST_TEST(verdict(8, 8.1) == "undecided");
  const JudgedClaim claim = claims_of({around(kPost, 8), around("policy=sync", 9)})[0];
  BOOST_TEST(
      claim.ours ==
      "-1.00 (-1.23 to -0.77), 3 seeds: post-local R 16 H 16 8.00 +- 0.10 %; sync 9.00 +- 0.10 %, minibatch 512, "
      "12 epochs");
  BOOST_TEST(text_of(claims_of({{{kPost, 0.08}}, {{"policy=sync", 0.09}}})[0].evidence.verdict) == "seen");
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_told) {
  BOOST_TEST(claims_of({around("policy=sync", 8)})[0].ours ==
             "no runs of post-local (--policy local --replicas 2 or more --from)");
  const JudgedClaim claim = claims_of({{{kPost, 0.08}}, {{"policy=sync", 0.09, 512, "0.4", "24"}}})[0];
  BOOST_TEST(text_of(claim.evidence.verdict) == "not tested");
  BOOST_TEST(claim.ours == "no minibatch and length that all of its policies were trained at");
}

// Policies that differ from post-local SGD in one flag are none of it.
BOOST_AUTO_TEST_CASE(a_policy_of_other_flags_is_not_post_local) {
  for (const std::string policy : {kLocal, kSlow, "policy=local replicas=1 every=16 from=4ep",
                                   "policy=local replicas=16 every=16 from=4ep outer-lr=0.5"})
    BOOST_TEST(claims_of({around(policy, 8), around("policy=sync", 9)})[0].ours.starts_with("no runs of post-local"),
               policy);
}

BOOST_AUTO_TEST_CASE(slow_momentum_lies_between_sync_and_local) {
  const auto verdict = [](double sync, double slow, double local) {
    return text_of(
        claims_of({around("policy=sync", sync), around(kSlow, slow), around(kLocal, local)})[1].evidence.verdict);
  };
  BOOST_TEST(verdict(8, 9, 10) == "held");
  BOOST_TEST(verdict(8, 8, 10) == "held");
  BOOST_TEST(verdict(8, 7, 10) == "not held");   // below sync
  BOOST_TEST(verdict(8, 11, 10) == "not held");  // it gives nothing back
  BOOST_TEST(verdict(10, 9, 8) == "not held");   // local costs nothing
  BOOST_TEST(verdict(8, 9.99, 10) == "undecided");
}

BOOST_AUTO_TEST_CASE(groups_have_the_seeds_and_their_best_rate_counts) {
  const auto ours = [](const std::vector<MadeRun>& at_another_rate) {
    return claims_of({around(kPost, 8), around("policy=sync", 9), at_another_rate, {{"policy=sync", -1, 32}}})[0].ours;
  };
  const MadeRun better{"policy=sync", 0.07, 512, "0.8"}, diverged{"policy=sync", -1, 512, "0.8"};
  BOOST_TEST(test::contains(ours({better, better}), "3 and 2 seeds: "));
  BOOST_TEST(
      test::contains(ours({better, better}), "16 8.00 +- 0.10 %; sync 7.00 +- 0.00 %, best of 2 settings, minibatch"));
  BOOST_TEST(test::contains(ours({better}), "sync 9.00 +- 0.10 %"));  // tried once
  // Most trainings at this rate diverged.
  BOOST_TEST(test::contains(ours({better, better, diverged, diverged, diverged}), "sync 9.00 +- 0.10 %"));
  BOOST_TEST(test::contains(ours({better, better, diverged, diverged}), "sync 7.00 +- 0.00 % (2 of 4"));
  std::vector<MadeRun> all = around(kPost, 8);
  all.push_back({kPost, 0.08, 512, "0.4", "12", "target"});
  all.push_back({kPost, 0.08, 512, "0.4", "12", "interrupted"});
  const PolicyGroups groups = policy_groups(reported(all));
  BOOST_REQUIRE(groups.groups.size() == 1u);
  BOOST_TEST(groups.groups[0].summary.runs.size() == 3u);
  BOOST_TEST(groups.left_out == (std::vector<std::string>{"runs/3 has no final error: it ended at its target",
                                                          "runs/4 has no final error: it is not done"}));
  BOOST_TEST(test::contains(groups_text(groups.groups),
                            "post-local R 16 H 16                   512       0.4  12 epochs      3  "
                            "8.00 +- 0.10 %\n"));
}

// The rate of sync with the greater share counts, of the two that were tried.
BOOST_AUTO_TEST_CASE(the_best_rate_has_the_greatest_share_where_higher_is_better) {
  std::vector<ReportedRun> runs = reported({{kPost, 0.9}, {"policy=sync", 0.8}, {"policy=sync", 0.7, 512, "0.8"}});
  for (ReportedRun& one : runs) one.run.goal_kind.higher_is_better = true;
  const JudgedClaim claim = error_claims(policy_groups(runs).groups)[0];
  BOOST_TEST(test::contains(claim.ours, "sync 80.00 %, best of 2 settings"));
  BOOST_TEST(text_of(claim.evidence.verdict) == "seen");
}

// Sync at minibatch 64 has the least error of all, and three seeds; local and slow momentum have one.
BOOST_AUTO_TEST_CASE(policies_are_compared_at_the_largest_minibatch_that_all_have) {
  const JudgedClaim claim = claims_of({around("policy=sync", 8),
                                       std::vector<MadeRun>(3, {"policy=sync", 0.01, 64}),
                                       {{kLocal, 0.1}, {kSlow, 0.09}, {kLocal, 0.1, 1024}}})[1];
  BOOST_TEST(test::contains(claim.ours, "sync 8.00 +- 0.10 %, minibatch 512, 12 epochs"));
  BOOST_TEST(claim.evidence.seeds == 1u);
}

BOOST_AUTO_TEST_CASE(runs_of_other_recipes_are_refused) {
  std::vector<ReportedRun> runs = reported({{kPost, 0.08}, {"policy=sync", 0.09}});
  runs[1].run.recipe = "other";
  BOOST_CHECK_EXCEPTION(
      policy_groups(runs), Error,
      test::says("one recipe, one data set and one error", "runs/0: net on unknown data, test error", "runs/1: other"));
}

BOOST_AUTO_TEST_CASE(the_program_compares_policies) {
  const test::TemporaryDirectory directory;
  std::vector<std::string> words = {KB_BIN "/compare"};
  for (const char* policy : {"sync", "local"}) {
    const std::filesystem::path folder = directory / policy;
    std::filesystem::create_directories(folder);
    test::write_file(folder / "manifest.json",
                     fmt::format(R"({{"recipe": "net", "seed": 1, "steps": 200, "steps_per_epoch": 10, "flags": {{
                                     "minibatch": 64, "lr": 0.1, "epochs": 20, "steps": 0, "policy": "{}", "replicas": 4,
                                     "from": "{}"}}, "ended": {{"how": "finished", "step": 200}},
                                     "goal": {{"name": "error", "is_share": true, "higher_is_better": false}},
                                     "result": {{"error": {}, "loss": 1}}}})",
                                 policy, *policy == 'l' ? "2ep" : "", *policy == 'l' ? 0.08 : 0.09));
    words.push_back(folder.string());
  }
  const ProcessResult result = Process(words).wait();
  BOOST_TEST(result.status == 0, result.output);
  for (const char* part : {"seen       post-local SGD", "-1.00, 1 seed", "not tested local SGD costs accuracy"})
    BOOST_TEST(test::contains(result.output, part));
  words.push_back("--rcp");
  BOOST_TEST(test::contains(Process(words).wait().output, "--rcp: expected runs of one --policy"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::error_claims_test
