// Checks what a model function returned, when its graph is declared.
#pragma once
#include <cstdint>
#include <string>

#include "recipes/task/model_output.h"

namespace kb {

// Throws Error, which names the model's source line, unless losses, metrics and drawings have the shapes that a
// minibatch of this many samples needs, and names of their own that files and flags can have.
void check_output(const std::string& task, const ModelOutput& output, int64_t minibatch);

}  // namespace kb
