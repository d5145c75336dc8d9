// The curvature of a run's training loss around its parameters: the ends of the Hessian's spectrum, and the noise
// scales and the best rate by gradient and Hessian.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "optim/curvature.h"
#include "recipes/models/run_loss.h"

namespace kb {

struct CurvatureRequest {
  LossRequest loss;
  int64_t eigenvalues = 1;  // how many of the largest are found
  double tolerance = 0.01;  // see LanczosOptions
  int64_t most_products = 60;
  int64_t groups = 16;  // groups of minibatches, whose gradients tell the noise; at least 3
};

struct LossCurvature {
  LossFacts facts;
  double loss = 0;
  Spectrum spectrum;
  CurvatureNoise noise;
};

// Throws Error where RunLoss does. Calls `say` with lines for a person.
LossCurvature loss_curvature(const CurvatureRequest& request, const std::optional<Recipe>& own,
                             const std::function<void(const std::string&)>& say);

}  // namespace kb
