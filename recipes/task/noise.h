// Noise in the shape of a task's fields: a step is timed without the data.
#pragma once
#include <memory>

#include "recipes/task/task.h"

namespace kb {

// Returns a source of one minibatch, the same at every step: floats in [-1, 1), bytes of any value, indices in turn;
// integers that are no index are 0. `count`: samples that it pretends to have.
std::shared_ptr<const Source> field_noise(std::vector<Field> fields, int64_t count);

}  // namespace kb
