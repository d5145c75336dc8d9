// Training in bf16 follows training in f32: same seed, same samples, loss curves smoothed over windows of steps. The
// learning rates are low enough for the curves not to be chaotic: at the recipes' own, f32 with other --shards, which
// differs in the last bits alone, is some percent away too.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "recipes/commands/program.h"
#include "recipes/papers/table.h"
#include "tests/support/support.h"

namespace kb::bf16_test {
namespace {

constexpr double kApart = 0.02;  // a share of the window's f32 loss

std::vector<double> losses(const Recipe& recipe, std::vector<std::string> words, const std::string& precision) {
  test::TemporaryDirectory directory;
  words.insert(words.begin(), recipe.name);
  words.insert(words.end(), {"--quiet", "--eval-every", "0", "--seed", "2", "--precision", precision, "--out",
                             (directory / "run").string()});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  BOOST_REQUIRE(run_recipe(recipe, static_cast<int>(argv.size()), argv.data()) == 0);
  std::istringstream text(test::read_file(directory / "run" / "metrics.jsonl"));
  std::vector<double> result;
  for (std::string line; std::getline(text, line);) {
    const nlohmann::json metrics = nlohmann::json::parse(line);
    if (metrics.at("kind") == "step") result.push_back(metrics.at("loss").get<double>());
  }
  return result;
}

double mean_of(const std::vector<double>& values, size_t first, size_t count) {
  double sum = 0;
  for (size_t i = first; i < first + count; ++i) sum += values[i];
  return sum / static_cast<double>(count);
}

void check_curves(const Recipe& recipe, const std::vector<std::string>& words, size_t window) {
  const std::vector<double> wide = losses(recipe, words, "f32"), low = losses(recipe, words, "bf16");
  BOOST_REQUIRE(wide.size() == low.size());
  BOOST_REQUIRE(wide.size() >= 2 * window);
  BOOST_TEST(wide.back() != low.back());
  for (size_t first = 0; first + window <= wide.size(); first += window) {
    const double a = mean_of(wide, first, window), b = mean_of(low, first, window);
    BOOST_TEST(std::abs(b - a) <= kApart * a, recipe.name << " from step " << first << ": f32 " << a << ", bf16 " << b);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bf16_curves)

BOOST_AUTO_TEST_CASE(lenet_on_mnist) {
  const std::optional<std::filesystem::path> mnist = test::data_dir("mnist");
  if (!mnist) return;
  check_curves(lenet_mnist(), {"--data", mnist->string(), "--steps", "200", "--lr", "0.01"}, 50);
}

BOOST_AUTO_TEST_CASE(lenet_on_glyphs) {
  check_curves(lenet_mnist(), {"--dataset", "glyphs", "--steps", "60", "--lr", "0.01"}, 30);
}

BOOST_AUTO_TEST_CASE(resnet_8_on_glyphs) {
  check_curves(resnet_cifar(),
               {"--dataset", "glyphs", "--depth", "8", "--minibatch", "32", "--steps", "30", "--lr", "0.02"}, 15);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::bf16_test
