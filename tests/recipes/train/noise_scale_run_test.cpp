// --noise-scale in a run: what it says of known noise, and that the training does not see it.
#include <boost/test/unit_test.hpp>
#include <random>

#include "graph/functions.h"
#include "recipes/config/learning.h"
#include "recipes/config/run_plan.h"
#include "recipes/train/metrics.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::noise_scale_run_test {
namespace {

using test::run, test::trace, test::lines_of, test::of_kind, test::state_sha256;

constexpr int64_t kDims = 8, kRows = 4096;
constexpr double kSigma = 2;  // standard deviation of every element of a sample's gradient

std::vector<float> noisy_points() {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal(0, static_cast<float>(kSigma));
  std::vector<float> points(static_cast<size_t>(kDims * kRows));
  for (float& x : points) x = normal(random);
  return points;
}

// Loss |w - x|^2 / 2 of points x around 0, at w = 1 in every element: a sample's gradient is w - x.
Task quadratic(const TaskRequest&) {
  const auto source = std::make_shared<TableSource>(kRows, std::vector{field_bytes(noisy_points())});
  const auto model = [](Inputs& in) -> ModelOutput {
    const Tensor x = in["x"];
    const Tensor w = parameter(in.graph(), "w", Role::bias, {in.real(), {kDims}, ""}, {InitKind::constant, 1, 0});
    const Tensor apart = broadcast_to(w, x.shape()) - x;
    return {sum(apart * apart, {1}) * 0.5, {}};
  };
  return {.name = "quadratic",
          .fields = {{.name = "x", .dtype = DType::f32, .shape = {kDims}, .in_memory = true}},
          .model = model,
          .train = source,
          .test = source};
}

Recipe quadratic_recipe() {
  Recipe recipe;
  recipe.name = "quadratic";
  recipe.summary = "known noise";
  recipe.defaults = {.minibatch = 32, .epochs = 4, .optimizer = "sgd", .lr = 1e-9};
  recipe.task = quadratic;
  return recipe;
}

std::vector<std::string> with_noise_scale(std::vector<std::string> words) {
  words.insert(words.end(), {"--noise-scale", "--per-worker", "5", "--threads", "1", "--shards", "2"});
  return words;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(noise_scale_of_a_run)

// |G|^2 is 8 x 1 and tr(Sigma) 8 x 4, so that the noise scale is 4 samples.
BOOST_AUTO_TEST_CASE(known_noise_is_found) {
  const test::TemporaryDirectory directory;
  BOOST_REQUIRE(run(directory / "run", {"--noise-scale", "--per-worker", "4", "--data", "none", "--keep-going"},
                    quadratic_recipe()) == 0);
  const auto epochs = of_kind(lines_of(directory / "run"), "epoch");
  BOOST_REQUIRE(epochs.size() == 4u);
  const auto& last = epochs.back();
  BOOST_TEST(last.at("noise_scale").get<double>() == kSigma * kSigma, boost::test_tools::tolerance(0.05));
  BOOST_TEST(last.at("noise_scale_low").get<double>() < kSigma * kSigma);
  BOOST_TEST(last.at("noise_scale_high").get<double>() > kSigma * kSigma);
}

BOOST_AUTO_TEST_CASE(the_training_does_not_see_it) {
  const test::TemporaryDirectory directory;
  BOOST_REQUIRE(run(directory / "plain", {"--per-worker", "5", "--threads", "1", "--shards", "2"}) == 0);
  BOOST_REQUIRE(run(directory / "noise", with_noise_scale({})) == 0);
  BOOST_TEST(state_sha256(directory / "noise") == state_sha256(directory / "plain"));
  for (const auto& line : of_kind(lines_of(directory / "plain"), "step")) BOOST_TEST(!line.contains("gradient2"));
  for (const auto& line : of_kind(lines_of(directory / "noise"), "step")) {
    BOOST_TEST(line.at("gradient2").get<double>() > 0);
    BOOST_TEST(line.at("worker_gradient2").get<double>() >= line.at("gradient2").get<double>());
  }
}

BOOST_AUTO_TEST_CASE(its_averages_go_on_where_the_run_does) {
  const test::TemporaryDirectory directory;
  BOOST_REQUIRE(run(directory / "whole", with_noise_scale({})) == 0);
  BOOST_REQUIRE(run(directory / "cut", with_noise_scale({"--stop-at", "7st"})) == 0);
  BOOST_REQUIRE(run({"--resume", (directory / "cut").string(), "--stop-at", "20st"}) == 0);
  BOOST_TEST(trace(directory / "cut") == trace(directory / "whole"));
}

BOOST_AUTO_TEST_CASE(one_worker_has_nothing_to_compare) {
  TrainConfig config = config_of(test::small_recipe().defaults);
  config.judging.noise_scale = true;
  BOOST_CHECK_EXCEPTION(
      make_plan(config, batch_plan(config.batch, 1), 100), Error,
      test::says("judging.noise_scale: expected two workers or more, whose gradients it compares, got one "
                 "of 10 samples\n  hint:     batch.per_worker = 5"));
}

BOOST_AUTO_TEST_CASE(a_line_says_what_is_known) {
  BOOST_TEST(to_text(NoiseScale{1, 876.4, 876.4, 610.2, 1300.0}) == "noise scale 876 (610 to 1300)");
  BOOST_TEST(to_text(NoiseScale{1, 8.76, 8.76, 6.1, 13.0}) == "noise scale 8.8 (6.1 to 13)");
  BOOST_TEST(to_text(NoiseScale{-1, 8.76, -8.76, 610, {}}) == "noise scale above 610");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::noise_scale_run_test
