#include "recipes/task/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "data/images/image_set.h"
#include "data/sets/load_dataset.h"
#include "graph/error.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

// Mean and standard deviation of each channel over the training part, of pixels scaled to [0, 1]. A test compares them
// with the data.
struct InputRow {
  const char* name;
  std::vector<double> mean, stddev;
};

std::vector<InputRow> input_table() {
  return {
      {"mnist", {0.13066}, {0.30811}},
      {"fashion-mnist", {0.28604}, {0.35302}},
      {"cifar10", {0.49140, 0.48216, 0.44653}, {0.24703, 0.24349, 0.26159}},
      {"cifar100", {0.50708, 0.48655, 0.44092}, {0.26733, 0.25644, 0.27615}},
      {"glyphs", {0.27411}, {0.16997}},
      {"glyphs-hour", {0.27933}, {0.19182}},
  };
}

constexpr const char *kFolder = "folder", *kOwn = "own", *kImagenet = "imagenet";
constexpr int64_t kNoiseCount = 256;  // images in each part of the noise that stands for a data set (kNoise)
// Mean and standard deviation of x / 255 for a byte x that takes all its 256 values with equal probability.
constexpr double kUniformMean = 0.5, kUniformStddev = 0.2898;

InputSpec spec_of(const Dataset& data, const std::string& dataset) {
  const ChannelStatistics& s = data.statistics;
  for (size_t c = 0; c < s.stddev.size(); ++c)
    if (s.stddev[c] == 0)
      throw Error(fmt::format("data set {}: channel {} has the same value in every pixel of the {} training images",
                              dataset, c, data.train.count()));
  return {.dataset = dataset,
          .shape = data.shape,
          .classes = data.class_count(),
          .mean = s.mean,
          .stddev = s.stddev,
          .train_count = data.train.count(),
          .test_count = data.test.count(),
          .in_files = data.train.files != nullptr};
}

// Returns the facts of ILSVRC 2012 as it was published, without reading any data.
InputSpec published_imagenet(int64_t side) {
  const ChannelStatistics s = imagenet_statistics();
  return {.dataset = kImagenet,
          .shape = {3, side, side},
          .classes = 1000,
          .mean = s.mean,
          .stddev = s.stddev,
          .train_count = kImageNetTrainCount,
          .test_count = kImageNetTestCount,
          .in_files = true};
}

Dataset load(const ImageSource& source) {
  if (source.dataset == kSynthetic) return synthetic_dataset(source.synthetic);
  if (source.dataset == kOwn && source.load) return source.load(source.dir);
  if (source.dataset == kImagenet)
    return image_set(open_image_store({source.dir, RuntimeOptions::from_environment().cache_dir, usable_processors()}),
                     source.side);
  return load_dataset(source.dataset, source.dir, usable_processors(), RuntimeOptions::from_environment().cache_dir);
}

}  // namespace

std::vector<std::string> input_names(LoadImages load) {
  std::vector<std::string> names;
  if (load) names.emplace_back(kOwn);
  for (const InputRow& row : input_table()) names.emplace_back(row.name);
  names.emplace_back(kImagenet);
  names.emplace_back(kFolder);
  names.emplace_back(kSynthetic);
  return names;
}

bool is_known_by_name(const std::string& dataset) {
  return dataset != kOwn && dataset != kImagenet && dataset != kFolder;
}

bool known_from_data_alone(const ImageSource& source) {
  if (source.dataset == kImagenet) return source.dir != kNoise && has_image_set(source.dir);
  return source.dataset == kFolder || (source.dataset == kOwn && source.load);
}

InputSpec input_spec(const ImageSource& source) {
  const auto& [dataset, synthetic, dir, own, side] = source;
  for (const InputRow& row : input_table()) {
    if (dataset != row.name) continue;
    const SetFacts facts = set_facts(dataset).value();
    return {dataset, facts.shape, facts.classes, row.mean, row.stddev, facts.train_count, facts.test_count};
  }
  if (known_from_data_alone(source)) return spec_of(load(source), dataset);
  if (dataset == kImagenet) return published_imagenet(side);
  if (dataset != kSynthetic)
    throw Error(fmt::format("data set: expected one of {}, got '{}'", fmt::join(input_names(own), ", "), dataset));
  auto channels = static_cast<size_t>(synthetic.shape.channels);
  return {dataset,
          synthetic.shape,
          synthetic.classes,
          std::vector<double>(channels, kUniformMean),
          std::vector<double>(channels, kUniformStddev),
          synthetic.train_count,
          synthetic.test_count};
}

Input load_input(const ImageSource& source) {
  if (source.dir == kNoise && source.dataset == kFolder)
    throw Error("data.path = synthetic: expected a data set that is known without its data, got 'folder'");
  if (source.dir == kNoise && !known_from_data_alone(source)) {
    InputSpec spec = input_spec(source);
    spec.noise = true;
    return {spec, synthetic_dataset({spec.shape, spec.classes, kNoiseCount, kNoiseCount, 1})};
  }
  if (known_from_data_alone(source)) {
    Dataset data = load(source);
    return {spec_of(data, source.dataset), std::move(data)};
  }
  Input input{input_spec(source), load(source)};
  auto& [spec, data] = input;
  if (data.shape != spec.shape || data.class_count() != spec.classes)
    throw Error(fmt::format("data set {}: expected {} classes of {}x{}x{}, got {} of {}x{}x{}", spec.dataset,
                            spec.classes, spec.shape.channels, spec.shape.height, spec.shape.width, data.class_count(),
                            data.shape.channels, data.shape.height, data.shape.width));
  spec.train_count = data.train.count();  // a variant of a published set may have other counts
  spec.test_count = data.test.count();
  return input;
}

std::string one_class_note(const Dataset& data) {
  for (const auto& [part, split] :
       {std::pair<const char*, const Split&>{"training", data.train}, {"test", data.test}}) {
    const std::vector<int32_t>& labels = split.labels;
    if (labels.size() < 2 || std::adjacent_find(labels.begin(), labels.end(), std::not_equal_to<>()) != labels.end())
      continue;
    const auto label = static_cast<size_t>(labels[0]);
    return fmt::format("NOTE: all {} {} labels of {} are {}{}: {}", labels.size(), part, data.name, label,
                       label < data.class_names.size() ? fmt::format(" ({})", data.class_names[label]) : "",
                       part == std::string("test") ? "its error says nothing" : "there is nothing to learn");
  }
  return "";
}

}  // namespace kb
