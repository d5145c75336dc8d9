#include "recipes/models/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/images/image_decoder.h"
#include "data/images/read_image.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostRows = 64;  // images per call; a run on a GPU may evaluate thousands at once

// Returns the form of the run's images from its manifest; the data set, which would tell it too, may be gone.
InputSpec recorded_input(const JsonValue& data, const RunConfig& config) {
  const auto shape = data.at("shape").list<int64_t>();
  InputSpec spec;
  spec.dataset = config.data.dataset;
  spec.classes = std::ssize(data.at("class_names").items());
  spec.mean = data.at("mean").list<double>();
  spec.stddev = data.at("stddev").list<double>();
  spec.in_files = data.get<bool>("in_files");
  const bool is_whole = shape.size() == 3 && std::ssize(spec.mean) == shape[0] && std::ssize(spec.stddev) == shape[0] &&
                        std::all_of(shape.begin(), shape.end(), [](int64_t n) { return n > 0 && n <= kMostSide; }) &&
                        std::all_of(spec.stddev.begin(), spec.stddev.end(), [](double s) { return s > 0; });
  if (!is_whole || spec.classes < 1)
    data.refuse("extents, mean and standard deviation a channel, and classes of the images");
  spec.shape = {shape[0], shape[1], shape[2]};
  return spec;
}

void check_channels(const InputSpec& input, const fs::path& run) {
  if (input.shape.channels == 1 || input.shape.channels == 3) return;
  throw Error(fmt::format("{}: its images have {} channels\n  expected: 1 (grey) or 3 (colours), as image files have",
                          run.string(), input.shape.channels));
}

void check_images(const Recipe& recipe, const fs::path& run) {
  if (recipe.task)
    throw Error(
        fmt::format("{} is a run of {}, a task of its own\n  expected: a run that tells classes of images apart",
                    run.string(), recipe.name));
}

InputSpec input_to_predict(const RunModel& model) {
  const ImageSource source = image_source(model.recipe, model.config);
  const JsonValue data = model.manifest.at("data");
  const DataOptions& asked = model.config.data;
  const bool is_recorded = !is_known_by_name(asked.dataset) && asked.path != kNoise && data.has("shape");
  InputSpec input = is_recorded ? recorded_input(data, model.config) : input_spec(source);
  check_channels(input, model.request.run);
  return input;
}

std::vector<std::string> names_of_classes(const JsonValue& manifest, int64_t classes) {
  std::vector<std::string> names;
  if (manifest.at("data").has("class_names")) names = manifest.at("data").at("class_names").list<std::string>();
  if (std::ssize(names) == classes) return names;
  names.clear();
  for (int64_t label = 0; label < classes; ++label) names.push_back(fmt::to_string(label));
  return names;
}

// Returns the softmax of the logits with the names of the classes, the largest first.
std::vector<ClassShare> shares_of(std::span<const double> logits, const std::vector<std::string>& names) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<ClassShare> shares;
  double sum = 0;
  for (size_t label = 0; label < logits.size(); ++label) {
    shares.push_back({static_cast<int64_t>(label), names.at(label), std::exp(logits[label] - largest)});
    sum += shares.back().probability;
  }
  for (ClassShare& share : shares) share.probability /= sum;
  std::stable_sort(shares.begin(), shares.end(),
                   [](const ClassShare& a, const ClassShare& b) { return a.probability > b.probability; });
  return shares;
}

}  // namespace

Predictor::Predictor(const PredictRequest& request, const std::optional<Recipe>& own,
                     const std::function<void(const std::string&)>& say)
    : invert_(request.invert),
      model_(request.model, own, {"predict", "IMAGE...", check_images}),
      input_(input_to_predict(model_)),
      names_(names_of_classes(model_.manifest, input_.classes)),
      rows_(std::min(batch_plan(model_.config).per_worker, kMostRows)),
      logits_(build_logits_graph(image_task(model_.recipe, input_, model_.config.data.options), rows_, model_.dtype())),
      session_(*model_.backend, model_.store, model_.compiled(logits_)) {
  model_.load(logits_.variables, say);
  session_.set_scalar(kLabelSmoothing, 0);
}

Bytes Predictor::read(const fs::path& image) const {
  Bytes pixels =
      input_.in_files ? read_centre_view(image, input_.shape.height) : read_fitted_image(image, input_.shape);
  if (invert_)
    for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(255 - pixel);
  return pixels;
}

// Fills the first rows with the images and the others with zeros; no row has an influence on another one.
void Predictor::feed(const std::vector<Bytes>& images) {
  const auto image = static_cast<size_t>(input_.shape.size());
  std::byte* pixels = session_.input("images");
  for (size_t row = 0; row < most(); ++row) {
    if (row < images.size())
      std::memcpy(pixels + row * image, images[row].data(), image);
    else
      std::memset(pixels + row * image, 0, image);
  }
}

std::vector<std::vector<ClassShare>> Predictor::classes_of(const std::vector<Bytes>& images) {
  ensure(images.size() <= most(), "more images than the program has rows");
  feed(images);
  session_.step();
  std::vector<double> logits;
  session_.read("logits", logits);
  const size_t classes = logits.size() / most();
  std::vector<std::vector<ClassShare>> all;
  for (size_t row = 0; row < images.size(); ++row)
    all.push_back(shares_of(std::span(logits).subspan(row * classes, classes), names_));
  return all;
}

}  // namespace kb
