#include "recipes/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/synthetic.h"
#include "graph/error.h"

namespace kb {
namespace {

struct InputRow {
  const char* name;
  ImageShape shape;
  int64_t classes;
  std::vector<double> mean, stddev;  // a channel, of the training part: a test compares them with the data
  int64_t train_count;
};

std::vector<InputRow> input_table() {
  return {
      {"mnist", {1, 28, 28}, 10, {0.13066}, {0.30811}, 60000},
      {"fashion-mnist", {1, 28, 28}, 10, {0.28604}, {0.35302}, 60000},
      {"cifar10", {3, 32, 32}, 10, {0.49140, 0.48216, 0.44653}, {0.24703, 0.24349, 0.26159}, 50000},
      {"cifar100", {3, 32, 32}, 100, {0.50708, 0.48655, 0.44092}, {0.26733, 0.25644, 0.27615}, 50000},
      {"glyphs", {1, 28, 28}, 10, {0.27411}, {0.16997}, 20000},
  };
}

constexpr const char* kSynthetic = "synthetic";
// Of bytes that are equally likely.
constexpr double kUniformMean = 0.5, kUniformStddev = 0.2898;

}  // namespace

std::vector<std::string> input_names() {
  std::vector<std::string> names;
  for (const InputRow& row : input_table()) names.emplace_back(row.name);
  names.emplace_back(kSynthetic);
  return names;
}

InputSpec input_spec(const std::string& dataset, const Synthetic& synthetic) {
  for (const InputRow& row : input_table())
    if (dataset == row.name) return {dataset, row.shape, row.classes, row.mean, row.stddev, row.train_count};
  if (dataset != kSynthetic)
    throw Error(fmt::format("data set: expected one of {}, got '{}'", fmt::join(input_names(), ", "), dataset));
  auto channels = static_cast<size_t>(synthetic.shape.channels);
  return {dataset,
          synthetic.shape,
          synthetic.classes,
          std::vector<double>(channels, kUniformMean),
          std::vector<double>(channels, kUniformStddev),
          synthetic.train_count};
}

Dataset load_input(const InputSpec& spec, const Synthetic& synthetic, const std::filesystem::path& dir) {
  Dataset data =
      spec.dataset == kSynthetic
          ? synthetic_dataset({synthetic.shape, synthetic.classes, synthetic.train_count, synthetic.test_count, 1})
          : load_dataset(spec.dataset, dir);
  if (data.shape != spec.shape || data.class_count() != spec.classes)
    throw Error(fmt::format("data set {}: expected {} classes of {}x{}x{}, got {} of {}x{}x{}", spec.dataset,
                            spec.classes, spec.shape.channels, spec.shape.height, spec.shape.width, data.class_count(),
                            data.shape.channels, data.shape.height, data.shape.width));
  return data;
}

}  // namespace kb
