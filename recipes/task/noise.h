// Noise in the shape of a task's fields, so that a step can be timed without the data.
#pragma once
#include <memory>

#include "recipes/task/task.h"

namespace kb {

// Returns a source that gives the same minibatch at every step and pretends to have `count` samples. Floats are in
// [-1, 1), bytes have any value, an index field counts up from 0 below its bound and begins again, and all other
// integers are 0.
std::shared_ptr<const Source> field_noise(std::vector<Field> fields, int64_t count);

}  // namespace kb
