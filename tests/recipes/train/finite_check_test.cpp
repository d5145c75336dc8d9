// Runs with a planted fault: the op is named, nothing that is not finite is kept, and no learning rate is blamed before
// there was an update.
#include "recipes/train/finite_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "recipes/commands/program.h"
#include "runtime/checkpoint.h"
#include "runtime/safetensors.h"
#include "tests/recipes/small_run.h"
#include "tests/support/support.h"

namespace kb::finite_check_test {
namespace {

namespace fs = std::filesystem;

using test::contains;

std::string here(int line) { return fmt::format("finite_check_test.cpp:{}", line); }

Tensor logits_of(Batch& batch) {
  Tensor x = relu(batch_norm("bn", conv2d("conv", batch.images, 8, {.kernel = 3, .padding = 1})));
  return linear("fc", flatten(x), batch.classes);
}

constexpr int kNanLine = __LINE__ + 4;
ModelOutput nan_in_forward(Batch& batch) {
  Tensor x = logits_of(batch);
  const Scope scope("head");
  return classification(batch, x + log(abs(x) - 1e9));
}

constexpr int kGradientLine = __LINE__ + 3;
ModelOutput nan_in_backward(Batch& batch) {
  Tensor x = logits_of(batch);
  return classification(batch, x + sqrt(x * 0.0));
}

// `drift` falls by the learning rate a step: below 0 its logarithm is NaN.
constexpr int kDriftLine = __LINE__ + 4;
ModelOutput nan_in_step_four(Batch& batch) {
  const Tensor drift =
      parameter(batch.images.graph(), "drift", Role::bias, {DType::f32, {}, ""}, {InitKind::constant, 0.35, 0});
  return {drift + log(drift) * 1e-6 + cross_entropy(logits_of(batch), batch.labels), {}};
}

ModelOutput sound(Batch& batch) { return classification(batch, logits_of(batch)); }

struct Fixture {
  test::TemporaryDirectory directory;
  const fs::path out = directory / "run";
  std::string said;

  // Returns the exit code; `said` gets what was written to both streams.
  int run(Model model, std::vector<std::string> words) {
    Recipe recipe = test::small_recipe();
    recipe.model = model;
    words.insert(words.begin(), {recipe.name, "--optimizer", "sgd", "--weight-decay", "0", "--schedule", "constant"});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    const fs::path log = directory / "log";
    std::fflush(stdout);
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const int saved[] = {::dup(STDOUT_FILENO), ::dup(STDERR_FILENO)};
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(file, stream);
    const int code = run_recipe(recipe, static_cast<int>(argv.size()), argv.data());
    std::fflush(stdout);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(saved[stream - 1], stream);
    for (const int descriptor : {file, saved[0], saved[1]}) ::close(descriptor);
    said = test::read_file(log);
    return code;
  }
  int begin(Model model, std::vector<std::string> words) {
    words.insert(words.end(), {"--out", out.string()});
    return run(model, std::move(words));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(finite_check, Fixture)

BOOST_AUTO_TEST_CASE(nan_at_step_0_is_named_by_its_op) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"--per-worker", "5"}, {"--precision", "bf16"}, {"--check-finite"}}) {
    BOOST_TEST(begin(nan_in_forward, words) == 4);
    const std::string expected = "made by: log in head at " + here(kNanLine) + ", f32[";
    BOOST_TEST(contains(said, expected));
    BOOST_TEST(contains(said, "makes NaN of finite inputs\n"));
    BOOST_TEST(contains(said, " at step 0, "));
    BOOST_TEST(contains(said, "no update was made, so that no --lr helps"));
    BOOST_TEST(!contains(said, "a smaller --lr"), said);
    BOOST_TEST(contains(said, "model.safetensors, the parameters after 0 steps"));
    fs::remove_all(out);
  }
}

BOOST_AUTO_TEST_CASE(a_gradient_that_is_not_finite_is_named_by_its_op) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"--check-finite"}}) {
    BOOST_TEST(begin(nan_in_backward, words) == 4);
    BOOST_TEST(contains(said, " at " + here(kGradientLine) + " (backward), f32["));
    BOOST_TEST(!contains(said, "a smaller --lr"), said);
    fs::remove_all(out);
  }
}

BOOST_AUTO_TEST_CASE(an_update_that_is_not_finite_is_told_as_one) {
  BOOST_TEST(begin(sound, {"--lr", "1e39", "--precision", "f32"}) == 4);
  BOOST_TEST(contains(said, "the state after 1 update is not finite: "));
  BOOST_TEST(contains(said, "made by: the update: losses and gradients are finite\n"));
  BOOST_TEST(contains(said, "hint: a smaller --lr"));
}

BOOST_AUTO_TEST_CASE(nan_of_a_later_step_is_named_where_it_is_asked_for) {
  BOOST_TEST(begin(nan_in_step_four, {"--save-every", "2"}) == 4);
  BOOST_TEST(contains(said, "the loss is not a number at step 4, "));
  BOOST_TEST(contains(said, "step-00000004.safetensors\n"));
  BOOST_TEST(contains(said, "going on with --check-finite names the op"));
  BOOST_TEST(run(nan_in_step_four, {"--resume", out.string(), "--check-finite"}) == 4);
  const std::string expected = "a value is not finite at step 4, with learning rate 0.1: stopped\n  made by: log at " +
                               here(kDriftLine) + ", f32[], makes NaN of finite inputs\n";
  BOOST_TEST(contains(said, expected));
  fs::remove_all(out);
  BOOST_TEST(begin(nan_in_step_four, {"--check-finite"}) == 4);
  BOOST_TEST(contains(said, "\n--check-finite: a program of its own takes "));
  BOOST_TEST(contains(said, expected));
  BOOST_TEST(read_checkpoint(list_checkpoints(out / "checkpoints").at(0)).step == 4);  // the last that is whole
}

BOOST_AUTO_TEST_CASE(looking_changes_no_bit) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"--per-worker", "5"},
                                                {"--precision", "f64"},
                                                {"--precision", "bf16"},
                                                {"--augment", "crop,flip,mixup", "--pad", "1"},
                                                {"--data", "synthetic"}}) {
    std::string state;
    for (const bool looks : {false, true}) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {"--steps", "4"});
      if (looks) all.emplace_back("--check-finite");
      BOOST_REQUIRE(begin(sound, all) == 0);
      BOOST_TEST((state.empty() || state == test::state_sha256(out)));
      state = test::state_sha256(out);
      fs::remove_all(out);
    }
  }
}

// Makes index 1 of the tensor `name` of a checkpoint or a model file NaN.
void plant(const fs::path& path, const std::string& name) {
  SafetensorsFile file = read_safetensors(path);
  for (NamedTensor& tensor : file.tensors)
    if (tensor.name == name) store_element(tensor.type.dtype, tensor.data.data(), 1, NAN);
  write_safetensors(path, views_of(file.tensors), file.metadata);
}

BOOST_AUTO_TEST_CASE(weights_that_are_not_finite_are_not_begun_with) {
  BOOST_REQUIRE(begin(sound, {"--steps", "2"}) == 0);
  const fs::path model = out / "model.safetensors";
  plant(model, "bn.bias");
  BOOST_TEST(run(sound, {"--init", model.string(), "--out", (directory / "next").string()}) == 1);
  BOOST_TEST(contains(said,
                      ": expected weights that are finite, got bn.bias: 1 of 8 values is not finite, the first at "
                      "index 1: nan\n  hint: "));
}

BOOST_AUTO_TEST_CASE(a_loss_that_grows_a_thousandfold_is_told) {
  begin(sound, {"--lr", "1e5", "--epochs", "1"});
  BOOST_TEST(contains(said, "NOTE: the training loss is "));
  BOOST_TEST(contains(said, ", over 1,000 times the first, "));
}

BOOST_AUTO_TEST_CASE(a_loss_that_stays_at_guessing_is_told) {
  const auto constant = [](Batch& batch) {
    return classification(batch, linear("fc", flatten(batch.images) * 0.0, batch.classes));
  };
  BOOST_TEST(begin(constant, {"--epochs", "12", "--eval-every", "6", "--lr", "0.01"}) == 0);
  BOOST_TEST(contains(said, "NOTE: nothing is learned: after 60 steps the training loss is 1."));
  BOOST_TEST(contains(said, "guessing among 3 classes has ln 3 = 1.099"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::finite_check_test
