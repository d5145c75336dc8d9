#include "recipes/run/trainer.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "data/error.h"
#include "recipes/config/flags.h"
#include "recipes/papers/table.h"
#include "recipes/run/guarded_main.h"
#include "recipes/run/run_folder.h"
#include "runtime/host_name.h"
#include "runtime/process.h"
#include "runtime/safetensors.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::trainer_test {
namespace {

using Json = nlohmann::json;
using test::lines_of, test::of_kind, test::run, test::small_recipe, test::trace;

// Returns `count` images of 1x4x4 in two classes, dark and bright.
Split two_shades(int64_t count) {
  Split split{{1, 4, 4}, {}, {}};
  for (int64_t i = 0; i < count; ++i) {
    split.labels.push_back(static_cast<int32_t>(i % 2));
    for (int64_t p = 0; p < 16; ++p) split.pixels.push_back(static_cast<uint8_t>(i % 2 * 150 + (i * 7 + p * 5) % 90));
  }
  return split;
}

// Returns what the program "p" says of a fault: what it writes to standard error when `thrown` ends its work.
template <class Thrown>
std::string told_of(const Thrown& thrown) {
  const test::TemporaryDirectory directory;
  const int before = ::dup(STDERR_FILENO), file = ::open((directory / "said").c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(file, STDERR_FILENO);
  const int code = guarded_main("p", [&]() -> int { throw thrown; });
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(file);
  BOOST_TEST(code == 3);
  return test::read_file(directory / "said");
}

Dataset shades(const std::filesystem::path&) {
  return make_dataset("shades", {"dark", "bright"}, two_shades(24), two_shades(8));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(trainer)

// The second run is refused before its model is built.
BOOST_AUTO_TEST_CASE(a_folder_that_holds_a_run_is_refused_before_anything_is_compiled) {
  static int declared;
  declared = 0;
  Recipe recipe = small_recipe();
  static ModelOutput (*const model)(Batch&) = recipe.model;
  recipe.model = [](Batch& batch) {
    ++declared;
    return model(batch);
  };
  test::TemporaryDirectory directory;
  const std::filesystem::path out = directory / "run";
  BOOST_REQUIRE(run(out, {"--steps", "1"}, recipe) == 0);
  BOOST_TEST(declared > 0);
  declared = 0;
  const std::string before = test::read_file(out / "metrics.jsonl");
  BOOST_TEST(run(out, {"--steps", "1"}, recipe) == 1);
  BOOST_TEST(declared == 0);
  BOOST_TEST(test::read_file(out / "metrics.jsonl") == before);
  BOOST_CHECK_EXCEPTION(
      check_unused(out), Error,
      test::says("--out: cannot use the folder " + out.string(), "it holds a run already", "--resume auto"));
  BOOST_CHECK_NO_THROW(check_unused(directory / "other"));
  BOOST_TEST(run(out, {"--steps", "1", "--dry-run"}, recipe) == 0);
}

BOOST_AUTO_TEST_CASE(a_run_leaves_a_complete_folder) {
  test::TemporaryDirectory directory;
  std::filesystem::path out = directory / "run";
  BOOST_REQUIRE(run(out, {"--save-every", "8"}) == 0);
  std::vector<Json> lines = lines_of(out);
  std::vector<Json> steps = of_kind(lines, "step"), evals = of_kind(lines, "eval");
  BOOST_TEST(steps.size() == 20u);
  BOOST_TEST(steps[13].at("step") == 13);
  BOOST_TEST(steps[13].at("epoch") == 1.3);
  BOOST_TEST(steps[0].at("lr") == 0.1);
  BOOST_TEST(evals.size() == 2u);
  BOOST_TEST(evals[1].at("epoch") == 2);
  BOOST_TEST(evals[1].at("count") == 37);
  const Json& end = lines.back();
  BOOST_TEST(end.at("kind") == "end");
  BOOST_TEST(end.at("diverged") == false);
  BOOST_TEST(end.at("steps") == 20);
  BOOST_TEST(end.at("error") == evals[1].at("error"));
  BOOST_TEST(end.at("state_sha256").get<std::string>().size() == 64u);
  Json manifest = Json::parse(test::read_file(out / "manifest.json"));
  BOOST_TEST(manifest.at("flags").at("minibatch") == 10);
  BOOST_TEST(manifest.at("graph_hash").at("training").get<std::string>().size() == 32u);
  BOOST_TEST(manifest.at("command").get<std::string>().starts_with("small --"));
  BOOST_TEST(manifest.at("ended").at("how") == "finished");
  BOOST_TEST(manifest.at("result").at("error").get<double>() <= 1);
  BOOST_TEST(manifest.at("result").at("diverged") == false);
  BOOST_TEST(manifest.at("host") == host_name());
  for (const char* file :
       {"model.safetensors", "checkpoints/step-00000016.safetensors", "checkpoints/step-00000020.safetensors"})
    BOOST_TEST(std::filesystem::exists(out / file), file);
  BOOST_TEST(!std::filesystem::exists(out / "checkpoints" / "step-00000010.safetensors"));
}

BOOST_AUTO_TEST_CASE(an_epoch_has_the_means_of_its_steps) {
  test::TemporaryDirectory directory;
  const std::filesystem::path out = directory / "run";
  BOOST_REQUIRE(run(out, {"--train-metrics", "--eval-every", "7st", "--schedule", "cosine"}) == 0);
  const std::vector<Json> lines = lines_of(out), steps = of_kind(lines, "step"), epochs = of_kind(lines, "epoch");
  BOOST_REQUIRE(epochs.size() == 2u);
  for (size_t e = 0; e < 2; ++e) {
    double loss = 0, error = 0;
    for (size_t i = 10 * e; i < 10 * e + 10; ++i) {
      loss += steps[i].at("loss").get<double>() / 10;
      error += steps[i].at("error").get<double>() / 10;
    }
    const auto near = boost::test_tools::tolerance(1e-12);
    BOOST_TEST(epochs[e].at("step") == 10 * (e + 1));
    BOOST_TEST(epochs[e].at("epoch") == e + 1);
    BOOST_TEST(epochs[e].at("train_loss").get<double>() == loss, near);
    BOOST_TEST(epochs[e].at("train_error").get<double>() == error, near);
    BOOST_TEST(epochs[e].at("lr") == steps[10 * e + 9].at("lr"));
    BOOST_TEST(epochs[e].at("seconds").get<double>() > 0);
  }
  for (const Json& line : of_kind(lines, "eval"))
    BOOST_TEST(line.at("lr") == steps.at(line.at("step").get<size_t>() - 1).at("lr"));
}

BOOST_AUTO_TEST_CASE(parameters_are_saved_under_pytorchs_names_and_shapes) {
  test::TemporaryDirectory directory;
  BOOST_REQUIRE(run(directory / "run", {"--epochs", "0"}) == 0);
  std::string text;
  for (const NamedTensor& tensor : read_safetensors(directory / "run" / "model.safetensors").tensors)
    text += tensor.name + " " + shape_text({tensor.type.dtype, tensor.type.shape, ""}) + "\n";
  BOOST_TEST(text ==
             "bn.bias [8]\nbn.running_mean [8]\nbn.running_var [8]\nbn.weight [8]\nconv.weight [8, 2, 3, 3]\n"
             "fc.bias [3]\nfc.weight [3, 32]\n");
}

BOOST_AUTO_TEST_CASE(a_seed_fixes_every_bit_and_another_seed_none) {
  test::TemporaryDirectory directory;
  for (const char* name : {"a", "b"}) BOOST_REQUIRE(run(directory / name, {}) == 0);
  BOOST_REQUIRE(run(directory / "c", {"--seed", "2"}) == 0);
  BOOST_REQUIRE(run(directory / "d", {"--threads", "1"}) == 0);
  BOOST_TEST(trace(directory / "a") == trace(directory / "b"));
  BOOST_TEST(trace(directory / "a") == trace(directory / "d"));
  BOOST_TEST(trace(directory / "a") != trace(directory / "c"));
}

// ghost(M) makes workers of M samples; sync(K), statistics over K workers of n samples, makes workers of K n samples.
BOOST_AUTO_TEST_CASE(a_group_of_batch_norm_is_a_worker_of_its_samples) {
  test::TemporaryDirectory directory;
  const auto state = [&](const char* name, std::vector<std::string> words) {
    words.insert(words.end(), {"--minibatch", "20", "--augment", "crop,flip", "--pad", "1"});
    BOOST_REQUIRE(run(directory / name, words) == 0);
    return test::state_sha256(directory / name);
  };
  const std::string five = state("5", {"--per-worker", "5"}), ten = state("10", {"--per-worker", "10"});
  BOOST_TEST(state("ghost", {"--per-worker", "10", "--batch-norm", "ghost(5)"}) == five);
  BOOST_TEST(state("sync", {"--per-worker", "5", "--batch-norm", "sync(2)"}) == ten);
  BOOST_TEST(five != ten);
  const auto manifest = nlohmann::json::parse(test::read_file(directory / "ghost" / "manifest.json"));
  BOOST_TEST(manifest.at("flags").at("per-worker") == 5);
  BOOST_TEST(run(directory / "wrong", {"--per-worker", "10", "--batch-norm", "ghost(3)"}) == 1);
}

// No bit depends on the place where the pixels are moved or on the number of threads that move them.
BOOST_AUTO_TEST_CASE(augmentation_gives_the_same_bits_wherever_it_is_done) {
  test::TemporaryDirectory directory;
  const std::vector<std::string> kinds = {"--augment", "crop,flip,cutout,mixup", "--pad", "1", "--cutout-size", "2"};
  std::set<std::string> states;
  int number = 0;
  for (const char* where : {"graph", "loader"}) {
    for (const char* threads : {"0", "1", "2", "4"}) {
      const auto out = directory / std::to_string(number++);
      std::vector<std::string> words = kinds;
      words.insert(words.end(), {"--augment-in", where, "--loader-threads", threads});
      BOOST_REQUIRE(run(out, words) == 0);
      states.insert(test::state_sha256(out));
    }
  }
  BOOST_TEST(states.size() == 1u);
  BOOST_REQUIRE(run(directory / "plain", {}) == 0);
  BOOST_TEST(!states.contains(test::state_sha256(directory / "plain")));
}

BOOST_AUTO_TEST_CASE(noise_needs_no_loader) {
  test::TemporaryDirectory directory;
  BOOST_REQUIRE(run(directory / "run", {"--data", "synthetic", "--epochs", "1"}) == 0);
  const std::vector<Json> steps = of_kind(lines_of(directory / "run"), "step");
  BOOST_TEST(steps.size() == 10u);
  for (const Json& step : steps) BOOST_TEST(step.at("data_wait_ms") == 0);
  BOOST_TEST(Json::parse(test::read_file(directory / "run" / "manifest.json")).at("flags").at("data") == "synthetic");
}

BOOST_AUTO_TEST_CASE(a_recipe_brings_images_of_its_own) {
  test::TemporaryDirectory directory;
  Recipe recipe = small_recipe();
  recipe.load = shades;
  recipe.defaults.dataset = "own";
  BOOST_REQUIRE(run(directory / "run", {"--epochs", "20"}, recipe) == 0);
  BOOST_TEST(lines_of(directory / "run").back().at("error") == 0.0);
  const Json manifest = Json::parse(test::read_file(directory / "run" / "manifest.json"));
  BOOST_TEST(manifest.at("flags").at("dataset") == "own");
  BOOST_TEST(manifest.at("data").at("name") == "shades");
}

BOOST_AUTO_TEST_CASE(f64_follows_f32) {
  test::TemporaryDirectory directory;
  BOOST_REQUIRE(run(directory / "f32", {"--steps", "3"}) == 0);
  BOOST_REQUIRE(run(directory / "f64", {"--steps", "3", "--precision", "f64"}) == 0);
  double narrow = lines_of(directory / "f32").back().at("loss"), wide = lines_of(directory / "f64").back().at("loss");
  BOOST_TEST(narrow == wide, boost::test_tools::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_stops_the_run) {
  test::TemporaryDirectory directory;
  std::filesystem::path out = directory / "run";
  BOOST_TEST(run(out, {"--lr", "1e30", "--schedule", "constant", "--keep-going"}) == 4);
  std::vector<Json> lines = lines_of(out);
  BOOST_TEST(lines.back().at("kind") == "stop");
  BOOST_TEST(lines.back().at("diverged") == true);
  const Json manifest = Json::parse(test::read_file(out / "manifest.json"));
  BOOST_TEST(manifest.at("ended").at("how") == "diverged");
  BOOST_TEST(manifest.at("result").at("diverged") == true);
  BOOST_TEST(manifest.at("result").at("error").is_null());
  BOOST_TEST(lines.back().at("lr") == 1e30);
  BOOST_TEST(of_kind(lines, "end").empty());
  BOOST_TEST(lines.back().at("step") == of_kind(lines, "step").back().at("step"));
  BOOST_TEST(of_kind(lines, "step").back().at("loss").is_null());
  BOOST_TEST(read_safetensors(out / "model.safetensors").metadata.at("step") == "0");
}

BOOST_AUTO_TEST_CASE(a_dry_run_leaves_nothing_but_what_it_dumps) {
  test::TemporaryDirectory directory;
  BOOST_TEST(run(directory / "none", {"--dry-run"}) == 0);
  BOOST_TEST(!std::filesystem::exists(directory / "none"));
  BOOST_TEST(run(directory / "dumps", {"--dry-run", "--dump", "graph,graphviz,passes,schedule,cpp"}) == 0);
  for (const char* file : {"graph.train.txt", "graph.predict.dot", "passes.train.04-simplify.after.txt",
                           "schedule.train.txt", "kernels.predict.cpp"})
    BOOST_TEST(std::filesystem::file_size(directory / "dumps" / file) > 0u, file);
  BOOST_TEST(!std::filesystem::exists(directory / "dumps" / "metrics.jsonl"));
}

// A folder that is left would keep the corrected command from beginning there.
BOOST_AUTO_TEST_CASE(refused_learning_leaves_no_folder) {
  using Words = std::vector<std::string>;
  const Words order = {"--per-worker", "5", "--policy", "async"};
  const Words gains = {"--per-worker", "5", "--base-lr", "0.1", "--base-minibatch", "5", "--scaling", "adascale"};
  test::TemporaryDirectory directory;
  const std::filesystem::path out = directory / "run", two = directory / "two.txt";
  std::ofstream(two) << "1\n2\n";
  const auto refuses = [&](Words words, const Words& own, int code) {
    words.insert(words.end(), own.begin(), own.end());
    BOOST_TEST(run(out, words) == code);
    BOOST_TEST(!std::filesystem::exists(out));
    words.emplace_back("--dry-run");
    BOOST_TEST(run(out, words) == code);
  };
  refuses(order, {"--times", "often"}, 2);
  refuses(order, {"--times", (directory / "none.txt").string()}, 1);
  refuses(order, {"--order", (directory / "none.jsonl").string()}, 1);
  refuses(order, {"--optimizer", "schedule-free", "--recompute-bn", "2"}, 1);
  refuses({"--per-worker", "5", "--policy", "local"}, {"--outer", "schedule-free"}, 1);
  refuses(gains, {"--optimizer", "schedule-free", "--recompute-bn", "2"}, 1);
  refuses(gains, {"--lr.biases", "0.1"}, 1);
  BOOST_TEST(run(out, {"--per-worker", "5", "--policy", "async", "--times", two.string(), "--steps", "1"}) == 0);
}

BOOST_AUTO_TEST_CASE(exit_codes) {
  test::TemporaryDirectory directory;
  BOOST_TEST(run(directory / "a", {"--epoch", "1"}) == 2);
  BOOST_TEST(run(directory / "a", {"--device", "cuda"}) == 1);
  BOOST_TEST(run(directory / "a", {"--minibatch", "101"}) == 1);
  BOOST_TEST(!std::filesystem::exists(directory / "a"));
  BOOST_TEST(guarded_main("p", []() -> int { throw InternalError("broken"); }) == 3);
  BOOST_TEST(guarded_main("p", []() -> int { throw DataError({"x", "is missing", "", "", ""}); }) == 1);
  // The errors are those of a full disk and of a machine that cannot start another thread.
  BOOST_TEST(guarded_main("p", []() -> int {
               throw std::filesystem::filesystem_error("no", "/tmp/x",
                                                       std::make_error_code(std::errc::no_space_on_device));
             }) == 1);
  BOOST_TEST(guarded_main("p", []() -> int {
               throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
             }) == 1);
}

// A parent that ignores the signal of a child's end hands that on, and the system then keeps no exit code for anybody.
BOOST_AUTO_TEST_CASE(a_program_whose_parent_ignores_the_end_of_children_knows_how_its_own_end) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  BOOST_TEST(guarded_main("p", [] { return Process({"/bin/sh", "-c", "exit 7"}).wait().status; }) == 7);
  std::signal(SIGCHLD, before);
}

// An exception of an unknown origin may be that of a user's function, and is not called Kilobatch's.
BOOST_AUTO_TEST_CASE(an_exception_of_unknown_origin_is_told_by_its_type) {
  struct NoSensor : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  const std::string said = told_of(NoSensor("the sensor is off"));
  BOOST_TEST(said.starts_with("p: an exception that nothing caught, "), said);
  BOOST_TEST(test::contains(said, "NoSensor: the sensor is off\n  from:     a function of this program's own"));
  BOOST_TEST(told_of(InternalError("broken")) == "p: internal error: broken\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::trainer_test
