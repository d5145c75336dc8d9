// The curvature of a run's training loss around its parameters: the ends of the Hessian's spectrum, and the noise
// scales and the best rate by gradient and Hessian.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "optim/curvature.h"
#include "recipes/models/run_model.h"

namespace kb {

struct CurvatureRequest {
  RunModelRequest model;
  std::string data = {};      // directory of the data; "" = that of the run
  int64_t samples = 2048;     // training samples, the first ones of the seed's order; rounded down to whole groups
  int64_t per_minibatch = 0;  // samples that the loss is computed of at once; 0: as many as a worker of the run has
  int64_t eigenvalues = 1;    // how many of the largest are found
  double tolerance = 0.01;    // see LanczosOptions
  int64_t most_products = 60;
  int64_t groups = 16;  // groups of minibatches, whose gradients tell the noise; at least 3
};

struct LossCurvature {
  std::string description;  // "lenet_mnist after 938 steps (runs/a/checkpoints/best.safetensors)"
  int64_t parameters = 0, samples = 0, per_minibatch = 0;
  double loss = 0;  // mean over the samples
  Spectrum spectrum;
  CurvatureNoise noise;
};

// Computes the curvature on the CPU, in f64 for a run in f64, otherwise in f32. Frozen parameters count as the others
// do. Calls `say` with lines for a person. Throws Error if there is no such run or fewer samples than a minibatch for
// each group.
LossCurvature loss_curvature(const CurvatureRequest& request, const std::optional<Recipe>& own,
                             const std::function<void(const std::string&)>& say);

}  // namespace kb
