// Images of noise in any shape, to time a training step without data. Labels are balanced and pixels uniform.
#pragma once

#include "data/dataset.h"

namespace kb {

struct SyntheticSpec {
  ImageShape shape = {1, 28, 28};
  int64_t classes = 10;
  int64_t train_count = 4096, test_count = 1024;
  uint64_t seed = 1;
};

/// Makes the set. Sample i of a part is a function of (seed, part, i); its label is i % classes. Throws DataError when
/// an extent, the number of classes or a count is below 1.
Dataset synthetic_dataset(const SyntheticSpec& spec);

}  // namespace kb
