// Recipes on the CUDA backend, on a fake GPU with emulated kernels, beside the CPU: the loop, the loader, evaluations,
// metrics, checkpoints.
#include <boost/test/unit_test.hpp>

#include "recipes/device.h"
#include "recipes/learning.h"
#include "recipes/programs.h"
#include "recipes/table.h"
#include "recipes/training_loop.h"
#include "tests/recipes/small_run.h"
#include "tests/runtime/cuda/fake_backend.h"
#include "tests/support.h"

using namespace kb;
using namespace kb::test;

namespace {

// Noise with labels as a data set of its own, so that a loader and evaluations have something to do.
Recipe on_noise(Recipe recipe, ImageShape shape, int64_t test_count) {
  recipe.defaults.dataset = "synthetic";
  recipe.synthetic = {shape, 10, 64, test_count};
  return recipe;
}

struct Outcome {
  std::vector<nlohmann::json> lines;  // metrics.jsonl
  std::vector<NamedTensor> state;
  std::filesystem::path folder;
};

// A recipe's training as its program does it, on `backend`; from a checkpoint where there is one.
Outcome train(Backend& backend, const Recipe& recipe, const std::vector<std::string>& words,
              const std::filesystem::path& folder_path, const std::filesystem::path& from = {}) {
  Flags flags = *parse_flags(recipe, recipe.name, words);
  flags.shards = 2;
  Input input = load_input(image_source(recipe, flags));
  const RunPlan plan = make_plan(flags, input.data.train.count());
  LoadedPrograms programs(backend, compile_programs(recipe, flags, input.spec, backend.target()),
                          static_cast<uint32_t>(flags.seed));
  const std::map<std::string, std::string> facts = checkpoint_facts(recipe, flags, programs, input.data);
  LoopStart start;
  if (!from.empty()) {
    const Checkpoint checkpoint = read_checkpoint(from);
    check_belongs(checkpoint, facts);
    load_checkpoint(programs.store, checkpoint);
    start.step = checkpoint.step;
  }
  const RunFolder folder(recipe.name, folder_path.string());
  Console console(true);
  {
    MetricsFile metrics(folder.file("metrics.jsonl"));
    CheckpointWriter checkpoints(programs.store, {folder.checkpoints(), facts, flags.keep, [] {}});
    TrainingLoop loop({flags, plan, make_scalars(recipe, flags, plan), input.spec, choose_loader_threads(flags),
                       input.data, programs.training, programs.inference, programs.store, folder, metrics, checkpoints,
                       console, start});
    loop.run();
  }
  return {lines_of(folder_path), programs.store.canonical(), folder_path};
}

std::unique_ptr<Backend> cpu() { return make_cpu_backend({2, 2, ""}); }

// Same lines in the same order, numbers close.
void check_lines(const Outcome& expected, const Outcome& got, double bound) {
  BOOST_REQUIRE(expected.lines.size() == got.lines.size());
  for (size_t i = 0; i < got.lines.size(); ++i) {
    const auto &a = expected.lines[i], &b = got.lines[i];
    BOOST_TEST(a.at("kind") == b.at("kind"));
    for (const char* key : {"step", "epoch", "lr", "count", "error"})
      if (a.contains(key)) BOOST_TEST(a.at(key) == b.at(key), "line " << i << " " << key);
    if (a.contains("loss")) {
      const double x = a.at("loss").get<double>(), y = b.at("loss").get<double>();
      BOOST_TEST(std::abs(x - y) <= bound * std::max(1.0, std::abs(x)),
                 "line " << i << ": loss " << x << ", got " << y);
    }
  }
}

// Of an element, relative to the largest of its tensor.
void check_state(const Outcome& expected, const Outcome& got, double bound) {
  BOOST_REQUIRE(expected.state.size() == got.state.size());
  for (size_t t = 0; t < got.state.size(); ++t) {
    const NamedTensor &a = expected.state[t], &b = got.state[t];
    BOOST_REQUIRE(a.name == b.name);
    BOOST_REQUIRE((a.type == b.type));
    double largest = 1e-3, difference = 0;
    for (int64_t i = 0; i < a.type.elements(); ++i) {
      const double x = load_element(a.type.dtype, a.data.data(), i), y = load_element(b.type.dtype, b.data.data(), i);
      largest = std::max(largest, std::abs(x));
      difference = std::max(difference, std::abs(x - y));
    }
    BOOST_TEST(difference <= bound * largest, a.name << " differs by " << difference << " of " << largest);
  }
}

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
