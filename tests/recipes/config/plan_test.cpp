// Tests how a plan counts: periods, ends, epochs over phases, copies of the parameters; and words that are no plan.
#include "recipes/config/plan.h"

#include <boost/test/unit_test.hpp>

#include <filesystem>

#include "recipes/config/growth.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/target_figure.h"
#include "tests/support/says.h"

namespace kb::plan_test {
namespace {

const RunPlan kPlan{100, 10, 10, 60};

}  // namespace

BOOST_AUTO_TEST_SUITE(plans)

// In binary 0.3 / 0.1 is a hair less than 3.
BOOST_AUTO_TEST_CASE(rounding_puts_off_no_period) {
  for (int64_t done = 1; done <= kPlan.steps; ++done) BOOST_TEST(is_due({0.1}, kPlan, done));
  BOOST_TEST(!is_due({0.1}, kPlan, 0));
}

BOOST_AUTO_TEST_CASE(a_run_ends_within_its_plan_and_takes_a_step) {
  BOOST_TEST(last_step({}, kPlan) == 60);
  for (const auto& [text, step] : {std::pair("7st", 7), {"2.5ep", 25}, {"0.001ep", 1}, {"100ep", 60}})
    BOOST_TEST(last_step(parse_stop_at(text), kPlan) == step, text);
}

// From step 150 on a step has 50 samples. The second epoch has drawn 500 samples, and draws 350 in 7 steps more.
BOOST_AUTO_TEST_CASE(epochs_and_steps_are_inverse_over_a_growth) {
  RunPlan plan{1000, 10, 100, 1000};
  plan.grown = {{.begin_step = 150,
                 .begin_epoch = 1,
                 .minibatch = 50,
                 .steps_per_epoch = 20,
                 .begin_sample = 500,
                 .rest_steps = 7}};
  const auto close = boost::test_tools::tolerance(1e-12);
  for (const auto& [step, epochs] :
       {std::pair(120, 1.2), {150, 1 + 500 / 850.0}, {153, 1 + 650 / 850.0}, {157, 2.0}, {177, 3.0}}) {
    BOOST_TEST(plan.epochs(step) == epochs, close);
    BOOST_TEST(plan.steps_in(epochs) == step);
  }
  BOOST_TEST(plan.steps_in(1.55) == 150);  // more of the first phase's epochs than it has
  BOOST_TEST(plan.samples_in(153) == 1500 + 150);
}

BOOST_AUTO_TEST_CASE(processes_have_their_copies) {
  const auto copies = [](int64_t replicas, int64_t processes, int64_t rank) {
    RunPlan plan = kPlan;
    plan.rounds = {replicas, 4, 0, plan.steps, processes};
    const ParameterCopies found = plan.copies(rank);
    return std::vector{found.all, found.first, found.own, found.processes};
  };
  for (const int64_t rank : {0, 1, 2, 3}) BOOST_TEST(copies(2, 4, rank) == (std::vector<int64_t>{2, rank / 2, 1, 2}));
  for (const int64_t rank : {0, 1}) BOOST_TEST(copies(4, 2, rank) == (std::vector<int64_t>{4, 2 * rank, 2, 1}));
}

// The second bucket takes 5 samples of the first, which leaves 8 of 98.
BOOST_AUTO_TEST_CASE(what_fills_no_minibatch_is_left_out) {
  RunPlan plan{123, 10, 15, 60};
  BOOST_TEST(plan.left_out() == 3);
  plan.buckets = {{103, 10}, {20, 25}};
  BOOST_TEST(plan.left_out() == 8);
  Learning learning;
  learning.scaling = "adascale", learning.base_minibatch = 64;
  BOOST_TEST(least_steps(learning, {60000, 512, 117, 937}) == 118);  // 937 steps of 64 are 117.1 of 512
}

BOOST_AUTO_TEST_CASE(other_words_are_refused) {
  BOOST_CHECK_THROW(parse_period("--f", "geo:1", Period::Unit::steps), Error);
  for (const char* none : {"0ep", "0st", "2.5st"}) BOOST_TEST(!find_period(none), none);
  for (const char* none : {"0ep", "2.5st", "3"}) BOOST_TEST(!find_duration(none), none);
  BOOST_CHECK_THROW(parse_target("--f", "=0.3"), Error);
  for (const char* growth : {"3ep:rate2:rate3", "3ep:x2:x3", "3ep:sqrt:again", "3ep:again:again"})
    BOOST_CHECK_EXCEPTION(parse_growths("--f", growth), Error, test::says("--f", growth));
}

BOOST_AUTO_TEST_CASE(files_are_recorded_by_paths_that_every_folder_has) {
  const std::string here = std::filesystem::current_path().string();
  RunConfig config;
  config.data.path = "data/mnist";
  config.sync.order = "order.jsonl";
  config.sync.times = "./times.txt";
  config.resume.branch = "runs/a@2.5ep";
  config = with_absolute_paths(config);
  BOOST_TEST(config.data.path == here + "/data/mnist");
  BOOST_TEST(config.sync.order == here + "/order.jsonl");
  BOOST_TEST(config.sync.times == here + "/times.txt");
  BOOST_TEST(config.resume.branch == here + "/runs/a@2.5ep");
  for (const char* word : {"exponential", "lognormal:0.5"}) {
    config.sync.times = word;
    BOOST_TEST(with_absolute_paths(config).sync.times == word);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::plan_test
