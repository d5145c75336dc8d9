#include "recipes/perf/overlap_report.h"
#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/perf/step_profiles.h"

#include <boost/test/unit_test.hpp>

#include "recipes/config/plan.h"
#include "recipes/papers/table.h"
#include "recipes/train/bucket_choice.h"
#include "recipes/train/programs.h"
#include "tests/recipes/ranks.h"
#include "tests/support/support.h"

namespace kb::overlap_report_test {
namespace {

struct Case {
  Recipe recipe = resnet_cifar();
  RunConfig config;
  InputSpec input;
  Target target = generic_cpu_target();

  explicit Case(const std::vector<std::string>& more) {
    std::vector<std::string> words{"--depth", "8", "--minibatch", "16", "--dataset", "synthetic"};
    words.insert(words.end(), more.begin(), more.end());
    config = *parse_flags(recipe, "", words);
    input = input_spec(image_source(recipe, config));
  }
  Compiled compiled() const {
    return compile_training(task_of(recipe, config, input),
                            settle_for_one_step(config, target, config.machine.processes));
  }
  Compiled finely() const {
    return compile_finely(task_of(recipe, config, input),
                          settle_for_one_step(config, target, config.machine.processes));
  }
};

std::vector<std::string> contents(const Compiled& compiled) {
  std::vector<std::string> result;
  for (const Step& step : compiled.program.at(PartRole::final).steps)
    if (step.cls == FusionClass::exchange) result.push_back(reduction_contents(compiled, step.reduction()));
  return result;
}

// A processor so slow, at 10 MB/s and 1 GFLOP/s, that a launch takes about 10 ms.
constexpr ProcessorRates kSlow{1e7, 1e9};

}  // namespace

BOOST_AUTO_TEST_SUITE(overlap_report)

BOOST_AUTO_TEST_CASE(what_a_bucket_sums) {
  const std::vector<std::string> whole = contents(Case({"--processes", "2"}).compiled());
  BOOST_REQUIRE(whole.size() == 2);
  BOOST_TEST(whole[0] == "losses, statistics");
  BOOST_TEST(whole[1] == "linear.*, layer3.*, layer2.*, layer1.*, bn1.*, conv1.*");

  // The losses are known before any gradient, and the gradients of the network's last layers before those of its first.
  const std::vector<std::string> cut = contents(Case({"--processes", "2", "--bucket-mb", "0.05"}).compiled());
  BOOST_TEST(cut.size() > 3u);
  BOOST_TEST(cut.at(0) == "losses, statistics");
  BOOST_TEST(cut.at(1) == "linear.*, layer3.*");
  BOOST_TEST(cut.back().ends_with("conv1.*"));
}

// Only the steps that read the sums come after the waits for them.
BOOST_AUTO_TEST_CASE(losses_hide_behind_the_whole_backward_pass) {
  const Compiled compiled = Case({"--processes", "2"}).compiled();
  std::vector<std::string> exchanges;
  for (const Step& step : compiled.program.at(PartRole::final).steps)
    if (step.reduction() >= 0)
      exchanges.push_back((step.cls == FusionClass::wait ? "wait " : "") +
                          reduction_contents(compiled, step.reduction()).substr(0, 6));
  const std::vector<std::string> expected{"losses", "linear", "wait linear", "wait losses"};
  BOOST_TEST(exchanges == expected);
}

BOOST_AUTO_TEST_CASE(a_table_and_its_sum) {
  const Compiled compiled = Case({"--processes", "2"}).compiled();
  Overlap overlap;
  overlap.reductions = {{1, 3, 1'000'000, 0.010, 0.011, 0.021, 0.0031}};
  overlap.step = 0.041;
  overlap.communication = 0.010;
  overlap.exposed = 0.0031;
  const std::string text = overlap_text(compiled, overlap);
  BOOST_TEST(test::contains(text, "     1      1 MB    10.000    11.000    21.000     3.100  linear.*, layer3.*"));
  BOOST_TEST(text.ends_with("exposed 3.1 ms of 41 ms; communication 10 ms, of which 6.9 ms are hidden\n"), text);
}

BOOST_AUTO_TEST_CASE(the_step_in_the_middle) {
  std::vector<Overlap> steps(5);
  const double times[] = {3, 9, 1, 4, 5};
  for (size_t i = 0; i < steps.size(); ++i) steps[i].step = times[i];
  BOOST_TEST(median_step(steps).step == 4);
  BOOST_CHECK_THROW(median_step({}), InternalError);
}

// On a network without latency the finest cut into buckets is best; if a message costs more than a step, one bucket is.
BOOST_AUTO_TEST_CASE(a_bucket_is_as_large_as_the_network_asks) {
  const Compiled finely = Case({"--processes", "2"}).finely();
  const auto choose = [&](const Network& network) { return choose_bucket(finely, network, kSlow); };
  const BucketChoice fine = choose({0, 1e5}), whole = choose({100, 1e9});
  BOOST_TEST(fine.megabytes < 0.3);
  BOOST_TEST(test::contains(fine.text, "buckets of"));
  BOOST_TEST(whole.megabytes > 50);
  BOOST_TEST(whole.text.find("the whole gradient in one bucket") == 0u, whole.text);
}

BOOST_AUTO_TEST_CASE(rates_are_those_of_the_slowest_process) {
  std::array<ProcessorRates, 2> found;
  test::on_ranks(2, [&](int rank, Machine machine) {
    const ProcessorRates own = rank == 0 ? ProcessorRates{10, 1} : ProcessorRates{5, 7};
    found[static_cast<size_t>(rank)] = slowest(own, machine.world.communicator());
  });
  for (const ProcessorRates& rates : found) BOOST_TEST((rates.bytes == 5 && rates.operations == 1));
}

// The time of a step with a bucket size follows from the finest cut nearly as from a program that is compiled for that
// size.
BOOST_AUTO_TEST_CASE(a_size_need_not_be_compiled) {
  for (const char* per_worker : {"8", "4"}) {
    const std::vector<std::string> words{"--processes", "2", "--per-worker", per_worker};
    const Compiled finely = Case(words).finely();
    const std::vector<double> seconds = estimated_seconds(finely.program.at(PartRole::final), kSlow);
    for (const char* megabytes : {"0.03", "0.05", "0.1", "25"}) {
      std::vector<std::string> more = words;
      more.insert(more.end(), {"--bucket-mb", megabytes});
      const Compiled compiled = Case(more).compiled();
      for (const Network& network : {Network{1e-3, 1e5}, Network{1e-4, 1e7}}) {
        const Overlap exact =
            predict_overlap(compiled, estimated_seconds(compiled.program.at(PartRole::final), kSlow), network);
        const Overlap inferred = predict_overlap(finely, seconds, network, bucket_bytes(std::stod(megabytes)));
        BOOST_TEST(inferred.step == exact.step, boost::test_tools::tolerance(0.02));
        BOOST_TEST(inferred.reductions.size() == exact.reductions.size());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_launch_takes_its_bytes_or_its_operations) {
  const Compiled compiled = Case({"--processes", "2"}).compiled();
  const Schedule& final = compiled.program.at(PartRole::final);
  const std::vector<double> seconds = estimated_seconds(final, {1e9, 1e10});
  BOOST_REQUIRE(seconds.size() == final.steps.size());
  for (size_t s = 0; s < seconds.size(); ++s) {
    const Step& step = final.steps[s];
    const bool moves = step.cls == FusionClass::exchange || step.cls == FusionClass::wait;
    const double longest = std::max(1e-9 * static_cast<double>(step.bytes), 1e-10 * static_cast<double>(step.flops));
    BOOST_TEST(seconds[s] == (moves ? 0 : longest), boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::overlap_report_test
