#include "recipes/models/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "data/images/image_decoder.h"
#include "data/images/read_image.h"
#include "recipes/config/run_plan.h"
#include "recipes/config/run_task.h"
#include "recipes/models/export.h"
#include "recipes/papers/table.h"
#include "recipes/run/command_words.h"
#include "recipes/run/recorded_flags.h"
#include "recipes/run/resume.h"
#include "runtime/input_file.h"
#include "runtime/session.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostRows = 64;  // images per call; a run on a GPU may evaluate thousands at once

JsonValue manifest_to_predict(const fs::path& run) {
  std::error_code error;
  if (!fs::is_directory(run, error)) throw Error(fmt::format("there is no run folder {}", run.string()));
  const fs::path path = run / kManifest;
  if (!is_there(path)) throw Error(fmt::format("{} holds no run: there is no {}", run.string(), kManifest));
  return parse_json(read_file(path), path.string());
}

// Returns the recipe of the run. Throws Error if it is not known here, or does not tell classes of images apart.
Recipe recipe_to_predict(const JsonValue& manifest, const std::optional<Recipe>& own, const fs::path& run) {
  const auto name = manifest.get<std::string>("recipe");
  const bool is_own = own && own->name == name;
  if (!is_own && (own || !is_listed(name)))
    throw Error(fmt::format("{} is a run of {}\n  expected: a run of {}\n  hint:     {} predict {} IMAGE...",
                            run.string(), name, own ? own->name : "a recipe that ./run list names",
                            is_listed(name) ? "./run" : "the program that trained it has the command: PROGRAM",
                            shell_quoted(run.string())));
  Recipe recipe = is_own ? *own : find_recipe(name);
  if (recipe.task)
    throw Error(
        fmt::format("{} is a run of {}, a task of its own\n  expected: a run that tells classes of images apart",
                    run.string(), name));
  return recipe;
}

RunConfig config_to_predict(const Recipe& recipe, const JsonValue& manifest, const fs::path& run) {
  try {
    return recorded_config(recipe, recorded_words(manifest));
  } catch (const UsageError& error) {
    throw Error(fmt::format("{}: flags in {} are not taken: {}", run.string(), kManifest, error.what()));
  }
}

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

InputSpec input_to_predict(const Recipe& recipe, const RunConfig& config, const JsonValue& manifest,
                           const fs::path& run) {
  const ImageSource source = image_source(recipe, config);
  const JsonValue data = manifest.at("data");
  const bool is_recorded = !is_known_by_name(config.data.dataset) && config.data.path != kNoise && data.has("shape");
  InputSpec input = is_recorded ? recorded_input(data, config) : input_spec(source);
  check_channels(input, run);
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

Checkpoint checkpoint_to_predict(const PredictRequest& request, const std::function<void(const std::string&)>& say) {
  const fs::path folder = checkpoints_of(request.run);
  if (!request.checkpoint.empty()) return read_checkpoint(named_checkpoint(folder, request.checkpoint));
  if (is_there(folder / kBestCheckpoint)) {
    try {
      return read_checkpoint(folder / kBestCheckpoint);
    } catch (const Error& error) {
      say(fmt::format("passed over: {}", error.what()));
    }
  }
  return newest_whole_checkpoint(folder, say);
}

// Loads the weights. Throws Error if the model has a tensor that the checkpoint lacks, or the reverse; it names one.
void load_model_weights(StateStore& store, const std::vector<NamedTensor>& tensors, const fs::path& file) {
  std::set<std::string> missing;
  for (const TensorView& view : store.views(false)) missing.insert(view.name);
  for (const NamedTensor& tensor : tensors) missing.erase(tensor.name);
  const std::vector<std::string> unknown = store.load(tensors);
  if (missing.empty() && unknown.empty()) return;
  throw Error(fmt::format("{}: it is not of this model\n  expected: {}\n  got:      {}", file.string(),
                          missing.empty() ? "nothing else" : *missing.begin(),
                          unknown.empty() ? "none of that name" : unknown.front()));
}

Compiled compiled_logits(const Task& task, const RunConfig& config, const Target& target, int64_t rows) {
  CompileOptions options;
  options.target = target;
  options.precision = config.arithmetic.precision;
  return compile(build_logits_graph(task, rows, graph_dtype(config.arithmetic.precision)), options);
}

}  // namespace

struct Predictor::Parts {
  Parts(const PredictRequest& request, const std::optional<Recipe>& own,
        const std::function<void(const std::string&)>& say)
      : asked(request),
        manifest(manifest_to_predict(request.run)),
        recipe(recipe_to_predict(manifest, own, request.run)),
        config(config_to_predict(recipe, manifest, request.run)),
        input(input_to_predict(recipe, config, manifest, request.run)),
        names(names_of_classes(manifest, input.classes)),
        rows(std::min(batch_plan(config).per_worker, kMostRows)),
        backend(make_cpu_backend({.shards = static_cast<int>(config.arithmetic.shards), .cache_directory = ""})),
        store(*backend),
        session(*backend, store,
                compiled_logits(image_task(recipe, input, config.data.options), config, backend->target(), rows)) {
    const Checkpoint checkpoint = checkpoint_to_predict(request, say);
    load_model_weights(store, exported_tensors(checkpoint, request.averaged), checkpoint.path);
    description = fmt::format("{} after {} steps ({})", recipe.name, checkpoint.step, checkpoint.path.string());
    session.set_scalar(kLabelSmoothing, 0);
  }

  // Fills the first rows with the images and the others with zeros; no row has an influence on another one.
  void feed(const std::vector<Bytes>& images) {
    const auto image = static_cast<size_t>(input.shape.size());
    std::byte* pixels = session.input("images");
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
      if (row < images.size())
        std::memcpy(pixels + row * image, images[row].data(), image);
      else
        std::memset(pixels + row * image, 0, image);
    }
  }

  PredictRequest asked;
  JsonValue manifest;
  Recipe recipe;
  RunConfig config;
  InputSpec input;
  std::vector<std::string> names;
  int64_t rows;
  std::unique_ptr<Backend> backend;
  StateStore store;
  Session session;
  std::string description;
};

namespace {

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
    : parts_(std::make_unique<Parts>(request, own, say)) {}

Predictor::~Predictor() = default;

std::string Predictor::description() const { return parts_->description; }

size_t Predictor::most() const { return static_cast<size_t>(parts_->rows); }

Bytes Predictor::read(const fs::path& image) const {
  const InputSpec& input = parts_->input;
  Bytes pixels = input.in_files ? read_centre_view(image, input.shape.height) : read_fitted_image(image, input.shape);
  if (parts_->asked.invert)
    for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(255 - pixel);
  return pixels;
}

std::vector<std::vector<ClassShare>> Predictor::classes_of(const std::vector<Bytes>& images) {
  ensure(images.size() <= most(), "more images than the program has rows");
  parts_->feed(images);
  parts_->session.step();
  std::vector<double> logits;
  parts_->session.read("logits", logits);
  const size_t classes = logits.size() / most();
  std::vector<std::vector<ClassShare>> all;
  for (size_t row = 0; row < images.size(); ++row)
    all.push_back(shares_of(std::span(logits).subspan(row * classes, classes), parts_->names));
  return all;
}

}  // namespace kb
