#include "tests/recipes/small_run.h"

#include <sstream>

#include "recipes/commands/program.h"
#include "tests/support/support.h"

namespace kb::test {
namespace {

using Json = nlohmann::json;

ModelOutput small_model(Batch& batch) {
  Tensor x = relu(batch_norm("bn", conv2d("conv", batch.images, 8, {.kernel = 3, .padding = 1})));
  return classification(batch, linear("fc", flatten(max_pool2d(x, {.kernel = 2})), batch.classes));
}

}  // namespace

Recipe small_recipe() {
  return {.name = "small",
          .summary = "for tests",
          .paper = "none",
          .model = small_model,
          .defaults = {.dataset = "synthetic", .minibatch = 10, .epochs = 2, .lr = 0.1},
          .synthetic = {.shape = {2, 4, 4}, .classes = 3, .train_count = 100, .test_count = 37}};
}

int run(std::vector<std::string> words, const Recipe& recipe) {
  words.insert(words.begin(), {recipe.name, "--quiet"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return run_recipe(recipe, static_cast<int>(argv.size()), argv.data());
}

int run(const std::filesystem::path& out, std::vector<std::string> words, const Recipe& recipe) {
  words.insert(words.begin(), {"--out", out.string()});
  return run(std::move(words), recipe);
}

std::vector<Json> lines_of(const std::filesystem::path& out) {
  std::istringstream text(read_file(out / "metrics.jsonl"));
  std::vector<Json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::vector<Json> of_kind(const std::vector<Json>& lines, const std::string& kind) {
  std::vector<Json> result;
  for (const Json& line : lines)
    if (line.at("kind") == kind) result.push_back(line);
  return result;
}

std::string trace(const std::filesystem::path& out) {
  std::string text;
  for (Json line : lines_of(out)) {
    if (line.at("kind") == "ranks") continue;  // times alone, of several processes
    line.erase("samples_per_s");
    line.erase("data_wait_ms");
    line.erase("wall_s");
    line.erase("seconds");
    text += line.dump() + "\n";
  }
  return text;
}

std::string state_sha256(const std::filesystem::path& out) {
  const std::vector<Json> lines = lines_of(out);
  return lines.empty() ? "" : lines.back().value("state_sha256", "");
}

}  // namespace kb::test
