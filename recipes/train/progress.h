// Standing of a run between two steps.
#pragma once
#include <cstdint>
#include <optional>

#include "recipes/train/evaluation.h"

namespace kb {

struct Progress {
  int64_t step = 0, steps = 0;                // taken, and of the whole run
  double epoch = 0, epochs = 0;               // likewise
  double loss = 0;                            // of the last step
  double learning_rate = 0;                   // likewise
  std::optional<Figure> best = std::nullopt;  // goal of the evaluations so far
  double samples_per_second = 0;
  double seconds_left = 0;  // of training, at that speed
  double data_wait_ms = 0;  // of the last step
};

}  // namespace kb
