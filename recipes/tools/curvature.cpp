// summary: the curvature of a run's training loss: the Hessian's largest eigenvalue, the noise scale by it: curvature
// RUN
#include <fmt/format.h>

#include "recipes/config/command_line.h"
#include "recipes/models/loss_curvature.h"
#include "recipes/tools/commands.h"
#include "runtime/json.h"
#include "runtime/standard_streams.h"

namespace kb {
namespace {

// Returns "876 samples (610 to 1300)", with the interval of 95 % in parentheses, or "above 610 samples" where it has no
// upper end; `unit` is " samples".
std::string to_text(const Ratio& ratio, const char* unit) {
  const auto& [low, high] = ratio.interval;
  if (high) return fmt::format("{:.4g}{} ({:.4g} to {:.4g})", ratio.value, unit, low, *high);
  return low > 0 ? fmt::format("above {:.4g}{}", low, unit) : "not known, more --samples are needed";
}

void print_text(const LossCurvature& found) {
  fmt::print("{}", to_text(found.facts, found.loss));
  const Spectrum& ends = found.spectrum;
  for (const Eigenvalue& e : ends.largest)
    fmt::print("eigenvalue of the Hessian  {:<11.4g} residual {:.2g}{}\n", e.value, e.residual,
               &e == &ends.largest.front() ? fmt::format(", the largest after {} products", ends.products) : "");
  fmt::print("smallest                   {:<11.4g} residual {:.2g}\n", ends.smallest.value, ends.smallest.residual);
  const double largest = ends.largest.front().value;
  if (largest > 0)
    fmt::print(
        "gradient descent on a quadratic of this curvature diverges at rates above {:.4g}, with momentum 0.9 {:.4g}\n",
        2 / largest, 3.8 / largest);
  const CurvatureNoise& n = found.noise;
  fmt::print("|G|^2 {:.4g}, tr(Sigma) {:.4g}, G'HG {:.4g}, tr(H Sigma) {:.4g}\n", n.gradient2, n.trace,
             n.gradient_curvature, n.noise_curvature);
  fmt::print("B_simple = tr(Sigma) / |G|^2   {}\n", to_text(n.simple_noise_scale, " samples"));
  fmt::print("B_noise = tr(H Sigma) / G'HG   {}\n", to_text(n.noise_scale, " samples"));
  fmt::print("eps_max = |G|^2 / G'HG         {}; the best rate of gradient descent without noise\n",
             to_text(n.best_rate, ""));
}

Json to_json(const Eigenvalue& e) { return {{"value", e.value}, {"residual", e.residual}}; }

Json to_json(const Ratio& ratio) {
  return {{"value", ratio.value}, {"low", ratio.interval.low}, {"high", ratio.interval.high}};
}

void print_json(const LossCurvature& found) {
  Json largest = Json::array();
  for (const Eigenvalue& e : found.spectrum.largest) largest.push_back(to_json(e));
  const CurvatureNoise& n = found.noise;
  Json object = to_json(found.facts, found.loss);
  object["largest"] = std::move(largest);
  object["smallest"] = to_json(found.spectrum.smallest);
  object["products"] = found.spectrum.products;
  object["gradient2"] = n.gradient2;
  object["trace"] = n.trace;
  object["gradient_curvature"] = n.gradient_curvature;
  object["noise_curvature"] = n.noise_curvature;
  object["simple_noise_scale"] = to_json(n.simple_noise_scale);
  object["noise_scale"] = to_json(n.noise_scale);
  object["best_rate"] = to_json(n.best_rate);
  fmt::print("{}\n", object.dump());
}

}  // namespace

int curvature_command(const ToolArguments& arguments) {
  CurvatureRequest request;
  bool json = false;
  CommandLine line(
      std::string(
          "The curvature of a run's training loss around its parameters, from products of the Hessian with vectors: "
          "the "
          "largest eigenvalues by Lanczos' method, and the noise scales and the best rate of McCandlish et al. 2018 "
          "(section 2.2). ") +
          kLossText,
      tool_usage(arguments) + " RUN");
  add_loss_flags(line, request.loss);
  line.whole({"--eigenvalues", "K", "eigenvalues to find, the largest first"}, request.eigenvalues, 1)
      .positive({"--tolerance", "SHARE", "residuals to reach, as a share of the largest magnitude"}, request.tolerance,
                1)
      .whole({"--products", "N", "products with the Hessian at most, for eigenvalues"}, request.most_products, 1)
      .whole({"--groups", "N", "groups of minibatches, whose gradients tell the noise and its interval"},
             request.groups, 3)
      .flag("--json", json, "one object in place of the text");
  if (!line.parse(arguments.words)) return 0;
  const LossCurvature found =
      loss_curvature(request, arguments.recipe, [](const std::string& text) { print_error("curvature: " + text); });
  json ? print_json(found) : print_text(found);
  return 0;
}

}  // namespace kb
