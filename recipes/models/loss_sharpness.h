// The sharpness of a run's training loss: how much it rises at most in a small box around the parameters.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "optim/box_maximum.h"
#include "recipes/models/run_loss.h"

namespace kb {

struct SharpnessRequest {
  LossRequest loss;
  double epsilon = 1e-3;    // a parameter x varies by at most epsilon (|x| + 1)
  int64_t iterations = 10;  // the maximisation ends after so many
};

// phi = 100 (max f - f) / (1 + f), with the greatest loss f of the box (Keskar et al. 2017, arXiv 1609.04836, metric
// 2.1, where A is the identity).
struct LossSharpness {
  LossFacts facts;
  double loss = 0, greatest = 0;
  double sharpness = 0;  // phi
  BoxMaximum maximum;
};

// Throws Error where RunLoss does, and for a loss that is not finite. Calls `say` with lines for a person.
LossSharpness loss_sharpness(const SharpnessRequest& request, const std::optional<Recipe>& own,
                             const std::function<void(const std::string&)>& say);

}  // namespace kb
