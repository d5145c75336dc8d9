// Plans every convolution of every recipe with cuDNN for three architectures, on a machine without a GPU: descriptors,
// heuristics, engines and workspaces are cuDNN's own; only the kernels are not run.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/papers/table.h"
#include "recipes/train/programs.h"
#include "runtime/cuda/open.h"
#include "runtime/cuda/vendor/vendor_library.h"
#include "tests/support/support.h"

namespace kb::recipes_test {

namespace {

struct Counted {
  int calls = 0, fused = 0;
  int64_t scratch = 0;  // the largest, bytes
};

// Plans every convolution of a schedule that was compiled with this library.
void plan_all(cuda::DeviceLibrary& library, const Schedule& schedule, Counted& counted) {
  for (const Step& step : schedule.steps) {
    if (step.cls != FusionClass::library) continue;
    const Node& node = schedule.node_of(step);
    if (node.op == Op::matmul) continue;
    const LibraryCall& call = *step.call();
    const int64_t planned =
        call.scratch.buffer < 0 ? 0 : schedule.buffers[static_cast<size_t>(call.scratch.buffer)].bytes;
    const int64_t needed = library.plan(*schedule.graph, node, call.epilogue)->scratch_bytes();
    BOOST_TEST(needed <= planned, step.name);
    ++counted.calls;
    counted.fused += call.epilogue.bias.valid();
    counted.scratch = std::max(counted.scratch, needed);
  }
}

void check_recipe(const Recipe& recipe, const std::string& precision, const std::string& architecture) {
  RunConfig config = default_config(recipe);
  config.arithmetic.precision = choice_of("--precision", kPrecisions, precision);
  config.data.path = recipe.name == "glyphs" ? "" : config.data.path;
  Target target = gpu_target(architecture);
  std::shared_ptr<cuda::DeviceLibrary> library = cuda::make_deviceless_library(architecture);
  target.library = std::make_shared<cuda::LibraryAnswers>(library);
  const Programs programs =
      compile_programs(declared_task(recipe, config), settle_for_one_step(config, target, config.machine.processes));
  Counted counted;
  for (const Compiled* compiled : {&programs.update(), &programs.evaluate()})
    for (const Schedule* schedule : compiled->program.all()) plan_all(*library, *schedule, counted);
  BOOST_TEST_MESSAGE(
      fmt::format("{} {} {} minibatch {}: {} calls, {} of them with an epilogue, {} distinct; largest "
                  "scratch {:.1f} MB",
                  recipe.name, precision, architecture, config.batch.minibatch, counted.calls, counted.fused,
                  library->algorithm_choices().size(), static_cast<double>(counted.scratch) * 1e-6));
  BOOST_TEST(library->algorithm_choices().size() <= static_cast<size_t>(counted.calls));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_recipe_plans)

// Every recipe, precision and architecture is planned by tests_cuda_vendor --run_test=cuda_recipe_plans -- --all.
BOOST_AUTO_TEST_CASE(every_convolution_has_a_plan) {
  const bool whole = test::was_asked("--all");
  const std::vector<std::string> most = {"f32", "bf16"}, all = {"f32", "tf32", "bf16", "f16", "f64"};
  for (const std::string architecture : {"sm_80", "sm_90", "sm_100"})
    for (const Recipe& recipe : whole || architecture == "sm_90" ? all_recipes() : std::vector{find_recipe("resnet50")})
      for (const std::string& precision : whole&& architecture == "sm_90" ? all : most)
        BOOST_TEST_CONTEXT(recipe.name << " " << precision << " " << architecture)
  check_recipe(recipe, precision, architecture);
}

// The plug-in gives the library's answers without a device, as `inspect --target` asks for them.
BOOST_AUTO_TEST_CASE(the_plugin_answers_without_a_device) {
  const DevicelessLibrary library = open_deviceless_library("sm_90");
  BOOST_TEST(library.name.starts_with("cuDNN "));
  BOOST_REQUIRE(library.query);
  Graph graph("one");
  const auto input = [&](const char* name, Dims shape) {
    return graph.add(Op::input, {},
                     {{"name", std::string(name)}, {"dtype", DType::f64}, {"shape", shape}, {"names", std::string()}});
  };
  const Value x = input("x", {32, 28, 28, 64}), dy = input("dy", {32, 28, 28, 64});
  const Node node = graph.node(graph.add(Op::conv2d_weight_grad, {x, dy},
                                         {{"stride", Ints{1, 1}},
                                          {"padding", Ints{1, 1}},
                                          {"dilation", Ints{1, 1}},
                                          {"groups", int64_t{1}},
                                          {"kernel", Ints{3, 3}},
                                          {"block_in", int64_t{64}},
                                          {"block_out", int64_t{64}},
                                          {"weights_last", int64_t{1}}}));
  const int64_t scratch = library.query->scratch_bytes(graph, node, {});
  BOOST_TEST(scratch > 0);
  BOOST_TEST(scratch == cuda::make_deviceless_library("sm_90")->scratch_bytes(graph, node, {}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::recipes_test
