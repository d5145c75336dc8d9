// The largest virtual worker that a memory takes.
#include "recipes/train/fit.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/papers/table.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/train/device.h"
#include "recipes/train/programs.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::fit_test {
namespace {

using test::run;

std::vector<const Compiled*> compiled_of(const Programs& programs) {
  std::vector<const Compiled*> all;
  for (const CompiledProgram& program : programs.list) all.push_back(&program.compiled);
  return all;
}

struct FitFixture {
  test::TemporaryDirectory directory;
  const Recipe recipe = test::small_recipe();
  const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1, .shards = 2, .cache_directory = ""});

  RunConfig config_with(std::vector<std::string> words) { return *parse_flags(recipe, "small", words); }
  int64_t bytes_with(RunConfig config, int64_t n) {
    config.batch.per_worker = n;
    const Programs programs = compile_programs(
        declared_task(recipe, config), settle_for_one_step(config, backend->target(), config.machine.processes));
    const MemoryAnswer training = memory_answer(programs.update());
    int64_t bytes = training.parameters + training.optimizer + training.statistics, arena = 0;
    for (const Compiled* one : compiled_of(programs)) {
      const MemoryAnswer own = memory_answer(*one);
      bytes += own.prepared + own.partial_sums + own.data + own.inputs;
      arena = std::max(arena, own.arena);
    }
    return bytes + arena;
  }
  Fit fit(const RunConfig& config, int64_t memory) {
    return fit_per_worker(declared_task(recipe, config),
                          settle_for_one_step(config, backend->target(), config.machine.processes),
                          config.machine.processes, memory);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(fit, FitFixture)

BOOST_AUTO_TEST_CASE(the_largest_divisor_that_fits_is_found) {
  const RunConfig config = config_with({"--minibatch", "60"});
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60}) {
    const auto memory = static_cast<int64_t>(static_cast<double>(bytes_with(config, n)) / kFitShare) + 2;
    const Fit found = this->fit(config, memory);
    BOOST_TEST(found.per_worker >= n);
    BOOST_TEST(found.bytes == bytes_with(config, found.per_worker));
    BOOST_TEST(static_cast<double>(found.bytes) <= kFitShare * static_cast<double>(memory));
    for (const int64_t more : {2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60})
      if (more > found.per_worker) BOOST_TEST(bytes_with(config, more) > found.bytes);
  }
}

// Programs of larger minibatches and of averaged parameters have memory of their own; all programs share one arena.
BOOST_AUTO_TEST_CASE(every_program_counts) {
  const RunConfig plain = config_with({"--minibatch", "20", "--per-worker", "10"}),
                  all = config_with({"--minibatch", "20", "--per-worker", "10", "--epochs", "3", "--ema", "0.9",
                                     "--eval-ema", "--recompute-bn", "2", "--minibatch-schedule", "1ep:x2"});
  const Programs programs =
      compile_programs(declared_task(recipe, all), settle_for_one_step(all, backend->target(), all.machine.processes));
  BOOST_TEST(compiled_of(programs).size() == 5u);
  BOOST_TEST(total_memory(compiled_of(programs)) == bytes_with(all, 10));
  BOOST_TEST(bytes_with(all, 10) > bytes_with(plain, 10));
  BOOST_TEST(this->fit(all, int64_t{1} << 40).bytes == bytes_with(all, 20));
}

// With a device's memory a larger n whose activations are computed again may take less than a smaller n.
BOOST_AUTO_TEST_CASE(the_largest_is_found_where_activations_are_computed_again) {
  const Recipe deep = resnet_cifar();
  const RunConfig config = *parse_flags(deep, "", {"--depth", "8", "--minibatch", "16"});
  const Task task = task_of(deep, config, input_spec(image_source(deep, config)));
  const auto total = [&](int64_t n, int64_t memory, bool& again) {
    RunConfig one = config;
    one.batch.per_worker = n;
    Target target = gpu_target("sm_90");
    target.memory_bytes = memory;
    const Programs programs = compile_programs(task, settle_for_one_step(one, target, one.machine.processes));
    again = !programs.update().recomputed.empty();
    return total_memory(compiled_of(programs));
  };
  bool again = false;
  const int64_t kept = total(16, int64_t{1} << 40, again);
  BOOST_TEST(!again);
  const int64_t lean = total(16, 1, again);
  BOOST_TEST(again);
  BOOST_REQUIRE(lean < kept);
  for (const double bytes :
       {static_cast<double>(kept) + 1e6, (static_cast<double>(kept) + 2.0 * static_cast<double>(lean)) / 3,
        static_cast<double>(lean) * 0.9, static_cast<double>(lean) * 0.5}) {
    Target target = gpu_target("sm_90");
    target.memory_bytes = static_cast<int64_t>(bytes / kFitShare);
    int64_t expected = 0;
    for (const int64_t n : {1, 2, 4, 8, 16})
      if (total(n, target.memory_bytes, again) <= static_cast<int64_t>(bytes)) expected = n;
    BOOST_TEST(fit_per_worker(task, settle_for_one_step(config, target), 1, target.memory_bytes).per_worker ==
               expected);
  }
  // The training step alone fits with all its activations; beside the evaluation it does not.
  total(16, static_cast<int64_t>((static_cast<double>(kept) - 1) / kFitShare), again);
  BOOST_TEST(again);
}

BOOST_AUTO_TEST_CASE(only_what_divides_the_share_of_a_process_is_taken) {
  RunConfig config = config_with({"--minibatch", "60"});
  config.machine.processes = 4;
  BOOST_TEST(this->fit(config, int64_t{1} << 40).per_worker == 15);
  config.machine.processes = 7;
  BOOST_CHECK_THROW(this->fit(config, int64_t{1} << 40), Error);
}

// Replicas have parameters and slots of their own.
BOOST_AUTO_TEST_CASE(copies_of_the_parameters_count) {
  const RunConfig plain = config_with({"--minibatch", "20"}),
                  local = config_with({"--minibatch", "20", "--policy", "local", "--replicas", "0"});
  const auto memory = static_cast<int64_t>(static_cast<double>(bytes_with(plain, 20)) / kFitShare) + 2;
  BOOST_TEST(this->fit(plain, memory).per_worker == 20);
  const Fit found = this->fit(local, memory);
  BOOST_TEST(found.per_worker < 20);
  Settled settled = settle_for_one_step(local, backend->target());
  settled.batch = make_batch_plan(20, found.per_worker, 1);
  settled.buckets = {{0, found.per_worker}};
  settled.plan = make_plan(local, settled.batch, 100);
  const Programs programs = compile_programs(declared_task(recipe, local), settled);
  BOOST_TEST(found.bytes == total_memory(programs, settled.plan.copies(), Processor::cpu));
}

// The whole minibatch would fit, but gradients of one worker alone cannot be compared.
BOOST_AUTO_TEST_CASE(only_workers_with_a_plan_are_taken) {
  const Fit found = this->fit(config_with({"--minibatch", "20", "--noise-scale"}), int64_t{1} << 40);
  BOOST_TEST(found.per_worker == 10);
  BOOST_TEST(test::contains(found.text, "; there is no plan with more"));
}

BOOST_AUTO_TEST_CASE(a_limit_beyond_all_memories_is_none) { BOOST_TEST(run_memory(1e300, 0) > int64_t{1} << 60); }

BOOST_AUTO_TEST_CASE(too_little_memory_is_refused) {
  BOOST_CHECK_EXCEPTION(this->fit(config_with({}), 1000), Error,
                        test::says("batch.fit: expected programs of at most 900 B of", "with 1 sample a worker"));
}

BOOST_AUTO_TEST_CASE(a_run_records_what_it_chose) {
  const RunConfig config = config_with({"--minibatch", "60"});
  const double gigabytes = static_cast<double>(bytes_with(config, 20)) / kFitShare / 1e9 + 1e-9;
  const int64_t n = this->fit(config, static_cast<int64_t>(gigabytes * 1e9)).per_worker;
  const std::vector<std::string> words = {"--minibatch", "60", "--fit", "--memory", fmt::format("{}", gigabytes)};
  BOOST_REQUIRE(run(directory / "fit", words) == 0);
  const auto manifest = nlohmann::json::parse(test::read_file(directory / "fit" / "manifest.json"));
  BOOST_TEST(manifest.at("fit").at("per_worker") == n);
  BOOST_TEST(manifest.at("flags").at("per-worker") == n);
  BOOST_REQUIRE(run(directory / "same", {"--minibatch", "60", "--per-worker", fmt::to_string(n)}) == 0);
  BOOST_TEST(test::state_sha256(directory / "fit") == test::state_sha256(directory / "same"));
  BOOST_TEST(run(directory / "no", {"--fit", "--per-worker", "5"}) == 2);
}

BOOST_AUTO_TEST_CASE(a_run_that_goes_on_keeps_its_choice) {
  const std::vector<std::string> words = {"--minibatch", "60", "--fit", "--steps", "4", "--resume", "auto"};
  std::vector<std::string> first = words;
  first.insert(first.end(), {"--stop-at", "2st"});
  BOOST_REQUIRE(run(directory / "a", first) == 0);
  const auto recorded = [&] {
    return nlohmann::json::parse(test::read_file(directory / "a" / "manifest.json")).value("fit", nlohmann::json());
  };
  const nlohmann::json before = recorded();
  BOOST_TEST(before.is_object());
  BOOST_REQUIRE(run(directory / "a", words) == 0);
  BOOST_TEST(recorded() == before);
  BOOST_TEST(test::lines_of(directory / "a").back().at("steps") == 4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::fit_test
