// summary: the classes that a run's model gives images, with their probabilities: predict RUN IMAGE...
#include "recipes/models/predict.h"

#include <fmt/format.h>

#include "data/error.h"
#include "recipes/config/command_line.h"
#include "recipes/tools/commands.h"
#include "runtime/json.h"
#include "runtime/standard_streams.h"

namespace kb {
namespace {

struct PredictCall {
  PredictRequest request;
  std::vector<std::string> images;
  int64_t top = 1;
  bool json = false;
};

std::string json_line(const std::string& image, const std::vector<ClassShare>& shares) {
  Json top = Json::array();
  for (const ClassShare& share : shares)
    top.push_back({{"class", share.name}, {"label", share.label}, {"probability", share.probability}});
  const ClassShare& first = shares.front();
  return Json{{"image", image},
              {"class", first.name},
              {"label", first.label},
              {"probability", first.probability},
              {"top", std::move(top)}}
      .dump();
}

std::string text_line(const std::string& image, const std::vector<ClassShare>& shares) {
  std::string line = image + ":";
  for (const ClassShare& share : shares)
    line += fmt::format("{}{} {:.2f} %", &share == &shares.front() ? " " : ", ", share.name, 100 * share.probability);
  return line;
}

void print_classes(const PredictCall& call, const std::string& image, std::vector<ClassShare> shares) {
  shares.resize(std::min(shares.size(), static_cast<size_t>(call.top)));
  fmt::print("{}\n", call.json ? json_line(image, shares) : text_line(image, shares));
}

// Prints the classes of all images and returns the exit code: 1 if a file is no image, which is printed as an error.
int predict_all(const PredictCall& call, Predictor& predictor) {
  int code = 0;
  for (size_t first = 0; first < call.images.size(); first += predictor.most()) {
    std::vector<std::string> names;
    std::vector<Bytes> images;
    for (size_t i = first; i < std::min(first + predictor.most(), call.images.size()); ++i) {
      try {
        images.push_back(predictor.read(call.images[i]));
        names.push_back(call.images[i]);
      } catch (const DataError& error) {
        print_error(fmt::format("predict: {}", error.what()));
        code = 1;
      }
    }
    const std::vector<std::vector<ClassShare>> classes = predictor.classes_of(images);
    for (size_t i = 0; i < names.size(); ++i) print_classes(call, names[i], classes[i]);
  }
  return code;
}

}  // namespace

int predict_command(const ToolArguments& arguments) {
  PredictCall call;
  CommandLine line(
      "The classes that a run's model gives images, and their probabilities. An image of another size than the run's "
      "is "
      "cut to its aspect ratio around the middle and resampled, colours become grey where the run's are; images of a "
      "run with --dataset imagenet are seen as its evaluations see them.",
      tool_usage(arguments) + " RUN IMAGE...");
  line.text({"RUN", "", "the run's folder"}, call.request.model.run)
      .required()
      .texts({"IMAGE", "", "PNG, JPEG, binary PPM or PGM files"}, call.images)
      .required();
  add_state_flags(line, call.request.model);
  line.flag("--invert", call.request.invert,
            "the negative of each image: of ink on paper, where MNIST is light on dark")
      .whole({"--top", "N", "classes to name, the most probable first"}, call.top, 1)
      .flag("--json", call.json, "an object a line: image, class, label, probability, and top, a list of such");
  if (!line.parse(arguments.words)) return 0;
  Predictor predictor(call.request, arguments.recipe, [](const std::string& line) { print_error("predict: " + line); });
  if (!call.json) print_error("predict: " + predictor.description());
  return predict_all(call, predictor);
}

}  // namespace kb
