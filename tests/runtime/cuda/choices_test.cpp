// Tests, on a fake GPU, that recipes keep the choices of the CUDA backend.
#include <boost/test/unit_test.hpp>

#include "graph/functions.h"
#include "graph/layers.h"
#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/papers/table.h"
#include "recipes/train/device.h"
#include "recipes/train/programs.h"
#include "tests/gpu/checks/net_session.h"
#include "tests/gpu/checks/recipe_run.h"
#include "tests/runtime/cuda/fake_backend.h"
#include "tests/support/support.h"

namespace kb::choices_test {

using namespace kb::test;

namespace {

// The model has a bottleneck without its 3x3 convolution.
ModelOutput two_products(Batch& batch) {
  Tensor x = relu(batch_norm("bn1", conv2d("conv1", batch.images, 16, {.kernel = 3, .stride = 4, .padding = 1})));
  Tensor y = relu(batch_norm("bn2", conv2d("conv2", x, 32, {.kernel = 1, .bias = false})));
  x = relu(x + batch_norm("bn3", conv2d("conv3", y, 16, {.kernel = 1, .bias = false})));
  return classification(batch, linear("fc", flatten(x), batch.classes));
}

Recipe products_recipe() {
  Recipe recipe = on_noise(lenet_mnist(), {1, 28, 28}, 8);
  recipe.model = two_products;
  return recipe;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_choices)

// The whole run was told that the library is faster, and another device would find that our own kernels are. A run that
// goes on there from a checkpoint, with its picks, computes the bits of the whole one.
BOOST_AUTO_TEST_CASE(products_keep_their_bits_in_a_resumed_run) {
  const TemporaryDirectory folder;
  const Recipe recipe = products_recipe();
  const auto trained = [&](Backend& backend, const char* name, const std::filesystem::path& from = {}) {
    return train(backend, recipe,
                 {"--minibatch", "4", "--steps", "4", "--lr", "0.01", "--precision", "bf16", "--save-every", "2",
                  "--keep", "9", "--eval-every", "0"},
                 folder / name, from);
  };
  Backend::AlgorithmChoices products;
  {
    FakeTestGpu gpu;
    const std::unique_ptr<Backend> backend = gpu.backend();
    trained(*backend, "measured");
    for (const auto& [call, pick] : backend->algorithm_choices())
      if (call.starts_with("matrices ")) {
        BOOST_TEST(pick == "warpgroups", call);
        products[call] = "library";
      }
    BOOST_TEST(products.size() >= 4u);
  }
  Outcome whole;
  std::string text;
  {
    FakeTestGpu gpu;
    const std::unique_ptr<Backend> backend = gpu.backend();
    backend->use_algorithm_choices(products);
    whole = trained(*backend, "whole");
    text = algorithm_choices_text(*backend);
  }
  FakeTestGpu gpu;
  const std::unique_ptr<Backend> backend = gpu.backend();
  BOOST_TEST(use_algorithm_choices(*backend, text).empty());
  const Outcome rest = trained(*backend, "rest", whole.folder / "checkpoints" / "step-00000002.safetensors");
  BOOST_TEST(state_sha256(views_of(rest.state)) == state_sha256(views_of(whole.state)));
  BOOST_TEST(algorithm_choices_text(*backend) == text);
}

// The choices that a library made by measuring are saved as text and used again. A text from another device is answered
// with a message.
BOOST_AUTO_TEST_CASE(choices_are_used_again) {
  const auto compile = [](Backend& backend) {
    const Recipe recipe = on_noise(lenet_mnist(), {1, 28, 28}, 8);
    const RunConfig config = *parse_flags(recipe, recipe.name, {"--minibatch", "8"});
    compile_programs(declared_task(recipe, config),
                     settle_for_one_step(config, backend.target(), config.machine.processes));
  };
  std::string text;
  {
    FakeTestGpu gpu;
    const std::unique_ptr<Backend> backend = gpu.backend();
    BOOST_TEST(algorithm_choices_text(*backend).empty());
    compile(*backend);
    text = algorithm_choices_text(*backend);
    BOOST_TEST(gpu.gpu.operations() > 10);
  }
  FakeTestGpu gpu;
  const std::unique_ptr<Backend> again = gpu.backend();
  BOOST_TEST(use_algorithm_choices(*again, text).empty());
  const int64_t before = gpu.gpu.operations();
  compile(*again);
  BOOST_TEST(gpu.gpu.operations() == before);  // nothing was measured
  BOOST_TEST(algorithm_choices_text(*again) == text);
  BOOST_TEST(use_algorithm_choices(*small_cpu(), text).empty());
  const std::string other = text.replace(text.find("fake GPU"), 8, "GPU of 1999");
  BOOST_TEST(contains(use_algorithm_choices(*again, other), "chosen on cuda: GPU of 1999"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::choices_test
