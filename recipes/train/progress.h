// How far a run has come, as it is told after each step.
#pragma once
#include <cstdint>
#include <optional>

#include "recipes/train/evaluation.h"

namespace kb {

struct Progress {
  int64_t step = 0, steps = 0;                // steps done, and of the whole run
  double epoch = 0, epochs = 0;               // epochs done, and of the whole run
  double loss = 0;                            // loss of the last step
  double learning_rate = 0;                   // learning rate of the last step
  std::optional<Figure> best = std::nullopt;  // best goal of the evaluations so far
  double samples_per_second = 0;              // mean since the program's start, without evaluations
  double seconds_left = 0;                    // seconds of training that are left at that speed
  double data_wait_ms = 0;                    // milliseconds that the last step waited for its minibatch
};

}  // namespace kb
