// --init FILE: weights to begin with, from any safetensors file with PyTorch's names and layouts (a run's
// model.safetensors or a checkpoint too, whose optimizer state is left behind).
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "runtime/state_store.h"

namespace kb {

// Puts every tensor of the file that has a parameter's or running statistic's name and shape into the store, converted
// where the floating-point type is another; the rest keeps its value. `say` is given a line for what was taken and each
// kind of what did not match. Throws Error where nothing matched.
void init_weights(StateStore& store, const std::filesystem::path& file,
                  const std::function<void(const std::string&)>& say);

}  // namespace kb
