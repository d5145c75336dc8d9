#include "recipes/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "data/synthetic.h"
#include "graph/error.h"

namespace kb {
namespace {

struct InputRow {
  const char* name;
  ImageShape shape;
  int64_t classes;
  double mean, stddev;  // of the training part: a test compares them with the data
  int64_t train_count;
};

constexpr std::array kInputs = {
    InputRow{"mnist", {1, 28, 28}, 10, 0.13066, 0.30811, 60000},
    InputRow{"fashion-mnist", {1, 28, 28}, 10, 0.28604, 0.35302, 60000},
    InputRow{"glyphs", {1, 28, 28}, 10, 0.27411, 0.16997, 20000},
};

constexpr const char* kSynthetic = "synthetic";
// Of bytes that are equally likely.
constexpr double kUniformMean = 0.5, kUniformStddev = 0.2898;

}  // namespace

std::vector<std::string> input_names() {
  std::vector<std::string> names;
  for (const InputRow& row : kInputs) names.emplace_back(row.name);
  names.emplace_back(kSynthetic);
  return names;
}

InputSpec input_spec(const std::string& dataset, const Synthetic& synthetic) {
  for (const InputRow& row : kInputs)
    if (dataset == row.name) return {dataset, row.shape, row.classes, {row.mean}, {row.stddev}, row.train_count};
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
