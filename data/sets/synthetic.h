// Images of noise in any shape, for timing a training step without any data: labels are balanced, pixels uniform.
#pragma once

#include "data/dataset.h"

namespace kb {

struct SyntheticSpec {
  ImageShape shape = {1, 28, 28};
  int64_t classes = 10;
  int64_t train_count = 4096, test_count = 1024;
  uint64_t seed = 1;
};

/// Sample i of either part is a pure function of (seed, part, i); its label is i % classes. Throws DataError if an
/// extent, the number of classes or a count is below 1.
Dataset synthetic_dataset(const SyntheticSpec& spec);

}  // namespace kb
