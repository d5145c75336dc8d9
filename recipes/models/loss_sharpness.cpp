#include "recipes/models/loss_sharpness.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace kb {
namespace {

// Returns the half widths of Keskar's box, eq. 3.
std::vector<double> half_widths(std::vector<double> parameters, double epsilon) {
  for (double& x : parameters) x = epsilon * (std::abs(x) + 1);
  return parameters;
}

}  // namespace

LossSharpness loss_sharpness(const SharpnessRequest& request, const std::optional<Recipe>& own,
                             const std::function<void(const std::string&)>& say) {
  RunLoss loss(request.loss, own, {.tool = "sharpness"}, say);
  LossSharpness found;
  found.facts = loss.facts();
  const std::vector<double> centre = loss.parameters();
  try {
    found.maximum = maximise_in_box([&](const std::vector<double>& parameters) { return loss.at(parameters); }, centre,
                                    half_widths(centre, request.epsilon), request.iterations);
  } catch (const std::domain_error&) {
    throw Error(fmt::format("{}: the loss or its gradient is not finite", found.facts.description));
  }
  found.loss = found.maximum.start;
  found.greatest = found.maximum.value;
  found.sharpness = 100 * (found.greatest - found.loss) / (1 + found.loss);
  return found;
}

}  // namespace kb
