#include "recipes/train/programs.h"
#include "recipes/config/run_task.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "recipes/config/flags.h"
#include "recipes/papers/table.h"
#include "recipes/perf/memory_answer.h"
#include "tests/support/compile_check.h"
#include "tests/support/support.h"

namespace kb::programs_test {
namespace {

// Returns the launches of a training step, a line each, such as "pointwise relu layer2.0".
std::string launches(const Recipe& recipe, const std::vector<std::string>& words, const char* isa) {
  Target target = generic_cpu_target();
  target.isa = target.library_isa = isa;
  const RunConfig config = *parse_flags(recipe, "", words);
  std::string text;
  const Programs programs =
      compile_programs(declared_task(recipe, config), settle_for_one_step(config, target, config.machine.processes));
  for (const Step& step : programs.update().program.at(PartRole::final).steps)
    text += fmt::format("{} {}\n", name(step.cls), step.name);
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(programs)

// The shortcuts' slices and pads are part of other launches, in every layout, and no transposition stands alone.
BOOST_AUTO_TEST_CASE(launches_of_resnet_cifar) {
  const std::vector<std::string> words = {"--depth", "8", "--minibatch", "4", "--dataset", "synthetic"};
  const std::string blocked = launches(resnet_cifar(), words, "avx512");
  test::golden("resnet_cifar_8_launches.txt", blocked);
  for (const char* isa : {"amx", "avx2", "generic"}) BOOST_TEST(launches(resnet_cifar(), words, isa) == blocked);
}

// The shortcuts in blocks of 16 and 8 channels and in NHWC, forward and backward.
BOOST_AUTO_TEST_CASE(resnet_cifar_is_what_its_graph_says_in_every_layout) {
  Recipe recipe = resnet_cifar();
  recipe.synthetic.shape = {3, 8, 8};
  OptionValues options(recipe.options);
  options.set("depth", 8);
  const Graph graph = build_training_graph(image_task(recipe, input_spec({"synthetic", recipe.synthetic}), options), 4);
  for (const char* isa : {"avx512", "avx2", "generic"}) {
    test::CheckOptions check{.tolerance = 1e-4, .check_passes = false, .optimizer = test::momentum_sgd()};
    check.target.isa = check.target.library_isa = isa;
    test::check_compiled(graph, check);
  }
}

// Every activation is kept if the program needs at most nine tenths of the device's memory. If it needs more, or the
// memory is not known, the activations that are cheap to compute again are not kept.
BOOST_AUTO_TEST_CASE(what_does_not_fit_is_computed_again) {
  const Recipe recipe = find_recipe("resnet_cifar");
  for (const char* per_worker : {"64", "16"}) {
    const RunConfig config = *parse_flags(recipe, "", {"--minibatch", "64", "--per-worker", per_worker});
    const InputSpec input = input_spec(image_source(recipe, config));
    const auto compiled = [&](double memory) {
      Target target = gpu_target("sm_90");
      target.memory_bytes = static_cast<int64_t>(memory);
      return compile_training(task_of(recipe, config, input),
                              settle_for_one_step(config, target, config.machine.processes));
    };
    const auto needed = [](const Compiled& one) {
      const MemoryAnswer memory = memory_answer(one);
      return static_cast<double>(memory.total() + (kInputSlots * lanes(one.program) - 1) * memory.inputs);
    };
    const Compiled beside = compiled(80e9), lean = compiled(0);
    // Two workers side by side give way before activations do.
    const bool two = lanes(beside.program) > 1;
    const Compiled kept = two ? compiled(needed(beside) / 0.9 - 1000) : compiled(80e9);
    BOOST_TEST(lanes(kept.program) == 1);
    BOOST_TEST(lanes(compiled(needed(beside) / 0.9 + 1000).program) == (two ? 2 : 1));
    BOOST_TEST(kept.recomputed.empty());
    BOOST_TEST(!lean.recomputed.empty());
    BOOST_TEST(needed(lean) < needed(kept));
    BOOST_TEST(compiled(needed(kept) / 0.9 + 1000).recomputed.empty());
    BOOST_TEST(compiled(needed(kept) / 0.9 - 1000).recomputed == lean.recomputed);
  }
}

// This program has neither gradients nor an optimizer, and takes the share of the minibatch as an input.
BOOST_AUTO_TEST_CASE(the_program_of_statistics_is_what_its_graph_says_in_every_layout) {
  Recipe recipe = resnet_cifar();
  recipe.synthetic.shape = {3, 8, 8};
  OptionValues options(recipe.options);
  options.set("depth", 8);
  const Graph graph =
      build_statistics_graph(image_task(recipe, input_spec({"synthetic", recipe.synthetic}), options), 4);
  BOOST_TEST(graph.writes.size() == 14u);
  for (const char* isa : {"avx512", "avx2", "generic"}) {
    test::CheckOptions check{.tolerance = 1e-4, .optimizer = {}};
    check.target.isa = check.target.library_isa = isa;
    test::check_compiled(graph, check);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::programs_test
