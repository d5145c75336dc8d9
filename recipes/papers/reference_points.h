// Reference convergence points of MLPerf training's ResNet-50: hyper-parameters by minibatch, and the epochs that each
// run of the reference took to 75.9 % top-1. Source: mlcommons/logging, rcp_checker/training_4.0.0/rcps_resnet.json.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace kb {

struct ReferencePoint {
  int64_t minibatch = 0;
  double rate = 0, warmup_epochs = 0, momentum = 0.9, weight_decay = 0;
  int64_t decay_steps = 0, norm_span = 0;  // steps after the warmup, plus 1; samples that share batch norm's statistics
  std::vector<double> epochs = {};         // epochs that each run took to the target
};

inline constexpr double kReferenceTarget = 75.9;  // top-1 accuracy in per cent

// Returns the points in ascending order of the minibatch.
std::span<const ReferencePoint> reference_points();

}  // namespace kb
