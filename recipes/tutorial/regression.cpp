// A regression on vectors from a CSV file of numbers: the last column is predicted from the others. It needs no images
// and no flags; the task has fields of your own.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "recipes/train/train.h"

using namespace kb;

// Takes the numbers of a line of the file, separated by commas.
static std::vector<float> numbers(const std::string& line, const char* file, int64_t number) {
  std::vector<float> row;
  std::istringstream words(line);
  for (std::string word; std::getline(words, word, ',');) {
    char* end = nullptr;
    row.push_back(std::strtof(word.c_str(), &end));
    if (end == word.c_str() || *end != '\0')
      throw Error(std::string(file) + ", line " + std::to_string(number) + ": expected a number, got '" + word + "'");
  }
  return row;
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: regression FILE.csv\n"), 2;
  try {
    std::vector<std::vector<float>> x(2), y(2);  // [0] for training and [1] for test, which takes every fifth row
    std::ifstream file(argv[1]);
    if (!file) throw Error(std::string(argv[1]) + ": cannot be read");
    int64_t rows = 0, columns = 0;
    for (std::string line; std::getline(file, line); ++rows) {
      if (line.ends_with('\r')) line.pop_back();
      const std::vector<float> row = numbers(line, argv[1], rows + 1);
      if (rows == 0) columns = std::ssize(row) - 1;
      if (columns < 1 || std::ssize(row) != columns + 1)
        throw Error(std::string(argv[1]) + ", line " + std::to_string(rows + 1) +
                    ": expected as many numbers as in line 1, two or more");
      std::vector<float>& to = x[rows % 5 == 4];
      to.insert(to.end(), row.begin(), row.end() - 1);
      y[rows % 5 == 4].push_back(row.back());
    }
    if (rows < 5)
      throw Error(std::string(argv[1]) + ": expected five rows or more, every fifth of which is for the test");
    const auto part = [&](size_t p) {
      const auto count = static_cast<int64_t>(y[p].size());
      return std::make_shared<TableSource>(count, std::vector{field_bytes(x[p]), field_bytes(y[p])});
    };
    const auto squared_error = [](Inputs& in) -> ModelOutput {
      Tensor hidden = tanh(linear("hidden", in["x"], 32));
      Tensor error = reshape(linear("out", hidden, 1), in["y"].shape()) - in["y"];
      return {error * error, {{"root mean square error", error * error, {.finish = std::sqrt}}}};
    };
    const Task task = {.name = "regression",
                       .fields = {{"x", DType::f32, {columns}}, {"y", DType::f32}},
                       .model = squared_error,
                       .train = part(0),
                       .test = part(1)};
    TrainConfig config = config_of(
        {.minibatch = std::min<int64_t>(32, std::ssize(y[0])), .epochs = 60, .optimizer = "adam", .lr = 0.01});
    LocalMachine machine;
    Observer silent;
    const Result result = train(task, config, machine, silent);
    if (result.loop.ending == Ending::diverged) throw Error(result.loop.reason);
    const Figure* goal = result.loop.evaluation->goal();
    std::printf("%s of %zu rows: %.4f\n", goal->name.c_str(), y[1].size(), goal->value);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "regression: %s\n", error.what());
    return 1;
  }
}
