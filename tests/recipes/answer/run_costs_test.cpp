// Virtual time and bytes of runs, against closed forms.
#include "recipes/answer/store_results.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/support/support.h"

namespace kb::run_costs_test {
namespace {

constexpr int64_t kParameters = 1200;
constexpr double kBytes = 4.0 * kParameters;  // n

// Returns a run with a minibatch of 256 samples, 8 workers of 32.
RunReport run_of(const std::string& words) {
  RunReport run;
  run.minibatch = 256;
  run.steps_per_epoch = 50;
  run.parameters = kParameters;
  BOOST_REQUIRE(set_policy_words(run.policy, "per-worker=32 " + words) == "");
  return run;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run_costs)

BOOST_AUTO_TEST_CASE(an_all_reduce_sends_what_the_communicators_say) {
  constexpr double kTolerance = 1e-12;
  for (const int64_t ranks : {1, 2, 4, 8})
    BOOST_TEST(all_reduce_bytes(kParameters, 4, ranks) ==
                   2 * kBytes * static_cast<double>(ranks - 1) / static_cast<double>(ranks),
               boost::test_tools::tolerance(kTolerance));
  // Blocks of 2 and 1: both ranks of the first send n / 2 and back, and n / 2 to the third, which sends n.
  BOOST_TEST(all_reduce_bytes(kParameters, 4, 3) == (2 * 1.5 + 1) * kBytes / 3,
             boost::test_tools::tolerance(kTolerance));
  BOOST_TEST(all_reduce_bytes(kParameters, 2, 2) == kBytes / 2);
}

BOOST_AUTO_TEST_CASE(bytes_follow_from_the_policy) {
  const auto sent = [](const std::string& words) { return bytes_sent(run_of(words), 100).value() / kBytes; };
  const auto close = boost::test_tools::tolerance(1e-12);
  BOOST_TEST(sent("") == 100 * 2 * 7.0 / 8, close);
  BOOST_TEST(sent("reduce-precision=bf16") == 100 * 7.0 / 8, close);
  BOOST_TEST(sent("policy=local replicas=8 every=4") == 100 / 4 * 2 * 7.0 / 8, close);
  // A replica has four workers, which sum their gradients in every step.
  BOOST_TEST(sent("policy=local replicas=0 every=4") == sent("policy=local replicas=8 every=4"), close);
  BOOST_TEST(sent("policy=local replicas=2 every=5") == 100 * 2 * 3.0 / 4 + 100 / 5 * 2 * 1.0 / 2, close);
  BOOST_TEST(sent("policy=local replicas=1 every=5 outer=nesterov") == sent(""), close);
  BOOST_TEST(sent("policy=local replicas=8 every=4 from=1ep") == (50 + 50 / 4.0) * 2 * 7.0 / 8, close);
  BOOST_TEST(sent("policy=local replicas=8 every=4 from=200st") == sent(""), close);
  BOOST_TEST(sent("policy=async") == 100, close);
  BOOST_TEST(sent("policy=stale stale-bound=1") == 100, close);
  BOOST_TEST(sent("policy=backup backups=2") == 100 * 8.0 / 10, close);
  RunReport unknown = run_of("");
  unknown.parameters = 0;
  BOOST_TEST(!bytes_sent(unknown, 100));
  BOOST_TEST(!bytes_sent(run_of("policy=backup backups=2 late=finish"), 100));  // it has no order
}

BOOST_AUTO_TEST_CASE(gradients_that_are_finished_late_are_sent) {
  const test::TemporaryDirectory folder;
  RunReport run = run_of("policy=backup backups=2 late=finish");
  run.folder = folder.path();
  std::string order = "{\"format\":\"kilobatch order\"}\n";
  for (int number = 0; number < 30; ++number)
    order += fmt::format("{{\"number\":{},\"fate\":\"{}\"}}\n", number, number % 5 == 4 ? "dropped" : "applied");
  test::write_file(folder / "order.jsonl", order);
  // Two steps are 16 applied gradients, before the last of which three were dropped.
  BOOST_TEST(bytes_sent(run, 2).value() == kBytes * (16 + 3) / 10, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(!bytes_sent(run, 4));  // the order ends before
}

BOOST_AUTO_TEST_CASE(virtual_time_is_linear_inside_a_step) {
  RunReport run;
  run.clocks = {2, 3, std::nan(""), 7};
  BOOST_TEST(clock_at(run, 1).value() == 2);
  BOOST_TEST(clock_at(run, 0.5).value() == 1);
  BOOST_TEST(clock_at(run, 1.25).value() == 2.25);
  BOOST_TEST(clock_at(run, 4).value() == 7);
  BOOST_TEST(!clock_at(run, 2.5));
  BOOST_TEST(!clock_at(run, 4.5));
  BOOST_TEST(!clock_at(run, 0));
  BOOST_TEST(!clock_at(RunReport(), 1));
}

// A run that was resumed repeats steps; lines of damaged steps are passed over.
BOOST_AUTO_TEST_CASE(policy_and_clocks_are_read_from_the_folder) {
  const test::TemporaryDirectory folder;
  test::write_file(folder / "manifest.json",
                   R"({"recipe": "r", "seed": 1, "steps_per_epoch": 5, "parameters": 1200, "flags": {"minibatch": 256,
                       "per-worker": 32, "policy": "backup", "backups": 0, "from": "", "momentum": 0.5}})");
  const auto step = [](const std::string& number, double clock) {
    return fmt::format("{{\"kind\":\"step\",\"step\":{},\"loss\":1,\"clock_s\":{}}}\n", number, clock);
  };
  test::write_file(folder / "metrics.jsonl", step("0", 1) + step("1", 2) + step("2", 9) + step("2", 3) +
                                                 step("1e15", 4) + "{\"kind\":\"step\",\"step\":3}\n" + step("4", 5));
  const RunReport run = read_run(folder.path());
  BOOST_TEST(policy_words(run.policy) == "policy=backup backups=0 per-worker=32 momentum=0.5");
  BOOST_TEST(run.parameters == kParameters);
  BOOST_REQUIRE(run.clocks.size() == 5u);
  BOOST_TEST(run.clocks[2] == 3);
  BOOST_TEST(std::isnan(run.clocks[3]));
  BOOST_TEST(clock_at(run, 5).value() == 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::run_costs_test
