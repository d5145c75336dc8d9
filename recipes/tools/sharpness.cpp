// summary: how much a run's training loss rises in a small box around its parameters: sharpness RUN
#include <fmt/format.h>

#include "recipes/config/command_line.h"
#include "recipes/models/loss_sharpness.h"
#include "recipes/tools/commands.h"
#include "runtime/json.h"
#include "runtime/standard_streams.h"

namespace kb {
namespace {

void print_text(const LossSharpness& found, double epsilon) {
  fmt::print("{}", to_text(found.facts, found.loss));
  const BoxMaximum& m = found.maximum;
  fmt::print("greatest loss {:.6g} where each parameter x varies by at most {:g} (|x| + 1), after {} iterations{}\n",
             found.greatest, epsilon, m.iterations, m.is_stationary ? "; no direction leads further up" : "");
  fmt::print("sharpness 100 (greatest - loss) / (1 + loss)   {:.4g}\n", found.sharpness);
}

void print_json(const LossSharpness& found, double epsilon) {
  Json object = to_json(found.facts, found.loss);
  object["epsilon"] = epsilon;
  object["greatest_loss"] = found.greatest;
  object["sharpness"] = found.sharpness;
  object["iterations"] = found.maximum.iterations;
  object["evaluations"] = found.maximum.evaluations;
  object["stationary"] = found.maximum.is_stationary;
  fmt::print("{}\n", object.dump());
}

}  // namespace

int sharpness_command(const ToolArguments& arguments) {
  SharpnessRequest request;
  bool json = false;
  CommandLine line(
      std::string(
          "How much a run's training loss rises at most where each parameter x varies by at most epsilon (|x| + 1): "
          "the "
          "sharpness of Keskar et al. 2017 (arXiv 1609.04836, metric 2.1), by which minima of large minibatches differ "
          "from those of small ones. ") +
          kLossText,
      tool_usage(arguments) + " RUN");
  add_loss_flags(line, request.loss);
  line.positive({"--epsilon", "X", "a parameter x varies by at most X (|x| + 1)"}, request.epsilon, 1)
      .whole({"--iterations", "N", "iterations of the maximisation at most, each of one gradient or more"},
             request.iterations, 1)
      .flag("--json", json, "one object in place of the text");
  if (!line.parse(arguments.words)) return 0;
  const LossSharpness found =
      loss_sharpness(request, arguments.recipe, [](const std::string& text) { print_error("sharpness: " + text); });
  json ? print_json(found, request.epsilon) : print_text(found, request.epsilon);
  return 0;
}

}  // namespace kb
