// Recipes on the CUDA backend, on a fake GPU with emulated kernels, beside the CPU: the loop, the loader, evaluations,
// metrics, checkpoints.
#include <boost/test/unit_test.hpp>

#include "recipes/device.h"
#include "recipes/programs.h"
#include "recipes/table.h"
#include "runtime/checkpoint.h"
#include "tests/recipes/small_run.h"
#include "tests/runtime/cuda/fake_backend.h"
#include "tests/runtime/cuda/recipe_run.h"
#include "tests/support.h"

using namespace kb;
using namespace kb::test;

namespace {

std::unique_ptr<Backend> cpu() { return make_cpu_backend({2, 2, ""}); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cuda_recipes, TemporaryDirectory)

BOOST_AUTO_TEST_CASE(lenet_mnist_trains_as_on_the_cpu) {
  const Recipe recipe = on_noise(lenet_mnist(), {1, 28, 28}, 20);
  const std::vector<std::string> words = {"--minibatch", "8", "--epochs", "1", "--lr", "0.01"};
  FakeGpu gpu;
  const Outcome expected = train(*cpu(), recipe, words, *this / "cpu");
  const Outcome got = train(*make_fake_backend(gpu), recipe, words, *this / "gpu");
  BOOST_TEST(got.lines.size() == 9u);  // 8 steps, an evaluation
  check_lines(expected, got, 1e-5);
  check_state(expected, got, 1e-5);
}

// With crops and flips in its first kernel.
BOOST_AUTO_TEST_CASE(resnet_cifar_8_trains_as_on_the_cpu) {
  const Recipe recipe = on_noise(resnet_cifar(), {3, 32, 32}, 8);
  const std::vector<std::string> words = {"--depth", "8",    "--minibatch",     "4", "--steps", "4",
                                          "--lr",    "0.01", "--warmup-epochs", "0"};
  FakeGpu gpu;
  const Outcome expected = train(*cpu(), recipe, words, *this / "cpu");
  const Outcome got = train(*make_fake_backend(gpu), recipe, words, *this / "gpu");
  check_lines(expected, got, 1e-4);
  check_state(expected, got, 1e-3);
}

// In bf16 the two round at other places, so that they agree to a few of its steps of 1 / 256.
BOOST_AUTO_TEST_CASE(lenet_mnist_trains_in_bf16) {
  const Recipe recipe = on_noise(lenet_mnist(), {1, 28, 28}, 20);
  const std::vector<std::string> words = {"--minibatch", "8", "--epochs", "1", "--lr", "0.01", "--precision", "bf16"};
  FakeGpu gpu;
  const Outcome expected = train(*cpu(), recipe, words, *this / "cpu");
  const Outcome got = train(*make_fake_backend(gpu), recipe, words, *this / "gpu");
  check_lines(expected, got, 0.01);
}

// Begun on the CPU, gone on with on the GPU, ended on the CPU.
BOOST_AUTO_TEST_CASE(a_run_goes_from_one_backend_to_the_other_and_back) {
  const Recipe recipe = on_noise(lenet_mnist(), {1, 28, 28}, 8);
  const auto words = [](const char* steps) {
    return std::vector<std::string>{"--minibatch", "8", "--lr", "0.01", "--schedule", "constant", "--steps", steps};
  };
  FakeGpu gpu;
  const std::unique_ptr<Backend> device = make_fake_backend(gpu);
  const Outcome whole = train(*cpu(), recipe, words("9"), *this / "whole");
  const Outcome first = train(*cpu(), recipe, words("3"), *this / "first");
  const auto newest = [](const Outcome& run) { return list_checkpoints(run.folder / "checkpoints").at(0); };
  const Outcome second = train(*device, recipe, words("6"), *this / "second", newest(first));
  const Outcome third = train(*cpu(), recipe, words("9"), *this / "third", newest(second));
  check_state(whole, third, 1e-5);
  BOOST_TEST(of_kind(second.lines, "step").front().at("step") == 3);
  BOOST_TEST(of_kind(third.lines, "step").size() == 3u);
}

// What a library chose by measuring goes with a checkpoint's text, and is used again; of another device it is told.
BOOST_AUTO_TEST_CASE(choices_are_used_again) {
  const auto compile = [](Backend& backend) {
    const Recipe recipe = on_noise(lenet_mnist(), {1, 28, 28}, 8);
    const Flags flags = *parse_flags(recipe, recipe.name, {"--minibatch", "8"});
    compile_programs(recipe, flags, input_spec(image_source(recipe, flags)), backend.target());
  };
  std::string text;
  {
    FakeGpu gpu;
    const std::unique_ptr<Backend> backend = make_fake_backend(gpu);
    BOOST_TEST(picks_text(*backend).empty());
    compile(*backend);
    text = picks_text(*backend);
    BOOST_TEST(gpu.operations() > 10);
  }
  FakeGpu gpu;
  const std::unique_ptr<Backend> again = make_fake_backend(gpu);
  BOOST_TEST(use_picks(*again, text).empty());
  const int64_t before = gpu.operations();
  compile(*again);
  BOOST_TEST(gpu.operations() == before);  // nothing was measured
  BOOST_TEST(picks_text(*again) == text);
  BOOST_TEST(use_picks(*cpu(), text).empty());
  const std::string other = text.replace(text.find("fake GPU"), 8, "GPU of 1999");
  BOOST_TEST(use_picks(*again, other).find("chosen on cuda: GPU of 1999") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
