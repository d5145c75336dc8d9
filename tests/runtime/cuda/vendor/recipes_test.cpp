// Every convolution of every recipe as a plan of cuDNN for three architectures, on a machine without a GPU:
// descriptors, heuristics, engines and workspaces are cuDNN's own; only the kernels are not run.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <set>

#include "recipes/programs.h"
#include "recipes/table.h"
#include "runtime/cuda/vendor/vendor_library.h"

using namespace kb;

namespace {

class Query : public LibraryQuery {
 public:
  explicit Query(std::shared_ptr<const cuda::DeviceLibrary> library) : library_(std::move(library)) {}
  int64_t scratch_bytes(const Graph& graph, const Node& node, const Epilogue& epilogue) const override {
    return library_->scratch_bytes(graph, node, epilogue);
  }
  int64_t packed_bytes(const Graph& graph, const Node& pack) const override {
    return library_->packed_bytes(graph, pack);
  }

 private:
  std::shared_ptr<const cuda::DeviceLibrary> library_;
};

struct Counted {
  int calls = 0, fused = 0;
  int64_t scratch = 0;  // the largest, bytes
};

// Plans every convolution of a schedule that was compiled with this library.
void plan_all(cuda::DeviceLibrary& library, const Schedule& schedule, Counted& counted) {
  for (const Step& step : schedule.steps) {
    if (step.cls != FusionClass::library) continue;
    const Node& node = schedule.graph->nodes[static_cast<size_t>(step.node)];
    if (node.op == Op::matmul) continue;
    const int64_t planned =
        step.scratch.buffer < 0 ? 0 : schedule.buffers[static_cast<size_t>(step.scratch.buffer)].bytes;
    const int64_t needed = library.plan(*schedule.graph, node, step.epilogue)->scratch_bytes();
    BOOST_TEST(needed <= planned, step.name);
    ++counted.calls;
    counted.fused += step.epilogue.bias.valid() || step.epilogue.relu;
    counted.scratch = std::max(counted.scratch, needed);
  }
}

void check_recipe(const Recipe& recipe, const std::string& precision, const std::string& architecture) {
  Flags flags = default_flags(recipe);
  flags.precision = precision;
  flags.data = recipe.name == "glyphs" ? "" : flags.data;
  Target target = gpu_target(architecture);
  std::shared_ptr<cuda::DeviceLibrary> library = cuda::make_deviceless_library(architecture);
  target.library = std::make_shared<Query>(library);
  const Programs programs = compile_programs(recipe, flags, input_spec(image_source(recipe, flags)), target);
  Counted counted;
  for (const Compiled* compiled : {&programs.training, &programs.inference})
    for (const Schedule* schedule : {&compiled->program.prepare, &compiled->program.final})
      plan_all(*library, *schedule, counted);
  BOOST_TEST_MESSAGE(
      fmt::format("{} {} {} minibatch {}: {} calls, {} of them with an epilogue, {} distinct; largest "
                  "scratch {:.1f} MB",
                  recipe.name, precision, architecture, flags.minibatch, counted.calls, counted.fused,
                  library->picks().size(), static_cast<double>(counted.scratch) * 1e-6));
  BOOST_TEST(library->picks().size() <= static_cast<size_t>(counted.calls));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_recipe_plans)

BOOST_AUTO_TEST_CASE(every_convolution_has_a_plan) {
  for (const char* architecture : {"sm_80", "sm_90", "sm_100"})
    for (const Recipe& recipe : all_recipes())
      for (const char* precision : {"f32", "tf32", "bf16", "f64"})
        BOOST_TEST_CONTEXT(recipe.name << " " << precision << " " << architecture)
  check_recipe(recipe, precision, architecture);
}

BOOST_AUTO_TEST_SUITE_END()
