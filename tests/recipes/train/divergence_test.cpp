// A run that diverges: when it stops, what it leaves, and that it is judged alike after a resume and in every process.
#include <boost/test/unit_test.hpp>

#include "data/sets/synthetic.h"
#include "recipes/config/learning.h"
#include "recipes/train/train.h"
#include "runtime/checkpoint.h"
#include "tests/recipes/ranks.h"
#include "tests/recipes/small_run.h"
#include "tests/support/support.h"

namespace kb::divergence_test {
namespace {

using Json = nlohmann::json;
using test::lines_of, test::of_kind, test::run;

Dataset hundred_images(const std::filesystem::path&) { return synthetic_dataset({{2, 4, 4}, 3, 100, 37, 1}); }

// The model's logits do not depend on the images, so that the loss stays at ln 3.
Recipe stuck_recipe() {
  Recipe recipe = test::small_recipe();
  recipe.load = hundred_images;
  recipe.defaults.dataset = "own";
  recipe.model = [](Batch& batch) {
    return classification(batch, linear("fc", flatten(batch.images) * 0.0, batch.classes, {.init = zeros}));
  };
  return recipe;
}

struct DivergenceFixture {
  test::TemporaryDirectory directory;
  const std::filesystem::path out = directory / "run";

  int stuck(const std::filesystem::path& folder, std::vector<std::string> words) {
    words.insert(words.end(), {"--epochs", "24", "--lr", "1e-6", "--schedule", "constant"});
    return run(folder, std::move(words), stuck_recipe());
  }
  Json manifest_of(const std::filesystem::path& folder) {
    return Json::parse(test::read_file(folder / "manifest.json"));
  }
};

Task number_task() {
  std::vector<float> x;
  for (int i = 0; i < 640; ++i) x.push_back(static_cast<float>(i % 32) / 32);
  const auto source = std::make_shared<TableSource>(640, std::vector{field_bytes(x)});
  const auto model = [](Inputs& in) -> ModelOutput {
    Tensor error = linear("fc", in["x"], 1) - 3.0;
    return {mean(error * error, {1}), {}};
  };
  return {.name = "numbers",
          .fields = {{.name = "x", .dtype = DType::f32, .shape = {1}, .in_memory = true}},
          .model = model,
          .train = source,
          .test = source};
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(divergence, DivergenceFixture)

BOOST_AUTO_TEST_CASE(an_epoch_that_learned_nothing_stops_the_run) {
  BOOST_TEST(stuck(out, {}) == 4);
  const std::vector<Json> lines = lines_of(out);
  BOOST_TEST(lines.back().at("kind") == "stop");
  BOOST_TEST(lines.back().at("step") == 200);
  BOOST_TEST(lines.back().at("diverged") == true);
  BOOST_TEST(lines.back().at("reason").get<std::string>().starts_with("the mean training loss of epoch 20 is 1.09"));
  BOOST_TEST(of_kind(lines, "step").size() == 200u);
  BOOST_TEST(of_kind(lines, "eval").size() == 20u);
  BOOST_TEST(read_checkpoint(list_checkpoints(out / "checkpoints").at(0)).step == 200);
  const Json manifest = manifest_of(out);
  BOOST_TEST(manifest.at("ended").at("how") == "diverged");
  BOOST_TEST(manifest.at("ended").at("step") == 200);
  BOOST_TEST(manifest.at("result").at("diverged") == true);
  BOOST_TEST(manifest.at("result").at("error") == of_kind(lines, "eval").back().at("error"));
}

BOOST_AUTO_TEST_CASE(a_run_that_was_stopped_within_the_epoch_is_judged_as_a_whole_one) {
  BOOST_TEST(stuck(out, {"--stop-at", "197st"}) == 0);
  BOOST_TEST(run({"--resume", out.string(), "--stop-at", "400st"}, stuck_recipe()) == 4);
  BOOST_TEST(lines_of(out).back().at("step") == 200);
}

BOOST_AUTO_TEST_CASE(keep_going_goes_on_to_the_same_bits) {
  BOOST_TEST(stuck(directory / "whole", {"--keep-going"}) == 0);
  BOOST_TEST(lines_of(directory / "whole").back().at("kind") == "end");
  BOOST_TEST(lines_of(directory / "whole").back().at("diverged") == true);
  BOOST_TEST(manifest_of(directory / "whole").at("ended").at("how") == "finished");
  BOOST_TEST(stuck(out, {}) == 4);
  BOOST_TEST(run({"--resume", out.string(), "--keep-going"}, stuck_recipe()) == 0);
  BOOST_TEST(test::trace(out) == test::trace(directory / "whole"));
}

// The last epoch that is judged ends before the stop.
BOOST_AUTO_TEST_CASE(a_run_that_goes_on_knows_that_it_diverged) {
  BOOST_TEST(stuck(directory / "whole", {"--keep-going", "--stop-at", "207st"}) == 0);
  BOOST_TEST(lines_of(directory / "whole").back().at("diverged") == true);
  for (const char* stop : {"200st", "203st"}) {
    const std::filesystem::path folder = directory / stop;
    BOOST_TEST(stuck(folder, {"--keep-going", "--stop-at", stop}) == 0);
    BOOST_TEST(run({"--resume", folder.string(), "--stop-at", "207st"}, stuck_recipe()) == 0);
    BOOST_TEST(test::trace(folder) == test::trace(directory / "whole"));
    BOOST_TEST(manifest_of(folder).at("result").at("diverged") == true);
  }
}

BOOST_AUTO_TEST_CASE(noise_is_not_judged) {
  Recipe recipe = stuck_recipe();
  recipe.defaults.dataset = "synthetic";
  BOOST_TEST(run(out, {"--epochs", "24", "--lr", "1e-6", "--schedule", "constant"}, recipe) == 0);
  BOOST_TEST(manifest_of(out).at("result").at("diverged") == false);
}

BOOST_AUTO_TEST_CASE(weights_to_begin_with_are_not_judged) {
  BOOST_TEST(stuck(out, {"--stop-at", "10st"}) == 0);
  BOOST_TEST(stuck(directory / "next", {"--init", out.string()}) == 0);
  BOOST_TEST(manifest_of(directory / "next").at("result").at("diverged") == false);
}

BOOST_AUTO_TEST_CASE(a_training_tells_that_it_diverged_in_every_process) {
  TrainConfig config = config_of({.minibatch = 32, .optimizer = "sgd", .lr = 0});
  config.length.steps = 240;
  config.arithmetic.shards = 2;
  config.batch.per_worker = 16;
  std::vector<Result> results(2);
  test::on_ranks(2, [&](int rank, Machine machine) {
    Observer silent;
    results[static_cast<size_t>(rank)] = train(number_task(), config, machine, silent);
  });
  for (const Result& result : results) {
    BOOST_TEST((result.loop.ending == Ending::diverged));
    BOOST_TEST(result.loop.is_diverged);
    BOOST_TEST(result.loop.steps == 200);  // 10 epochs of 20 steps
    BOOST_TEST(result.loop.reason.find("the mean training loss of epoch 10 is ") == 0u, result.loop.reason);
    BOOST_TEST(result.state.step == 200);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::divergence_test
