// resume.init FILE: weights to begin with, from any safetensors file with PyTorch's names and layouts (a run's folder,
// its model.safetensors or a checkpoint too, whose optimizer state is not taken).
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "runtime/state_store.h"

namespace kb {

// The file that resume.init names: `given`, or model.safetensors in it where it is a folder. Throws Error where a
// folder has none.
std::filesystem::path init_file(const std::filesystem::path& given);

// Tensors of the model that the file has to have: all of them in their shapes, or some (--init-partial).
enum class InitExtent : uint8_t { whole, partial };

// Puts every tensor of the file that has a parameter's or running statistic's name and shape into the store, converted
// where the floating-point type is another. `given` is as for init_file. Names that all begin with "module.", as
// PyTorch's DataParallel writes them, lose that. `say` is given a line for what was taken and each kind of what did not
// match. Throws Error, and has changed nothing, where a tensor of the model is missing or has another shape; with
// InitExtent::partial those keep their values, and it throws where none matched.
void init_weights(StateStore& store, const std::filesystem::path& given, InitExtent extent,
                  const std::function<void(const std::string&)>& say);

}  // namespace kb
