// Loads initial weights (resume.init FILE) from a safetensors file with PyTorch's names and layouts. A run's folder,
// its model.safetensors and its checkpoints qualify too; a checkpoint's optimizer state is not loaded.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "runtime/state_store.h"

namespace kb {

// Returns the file that resume.init names: `given` or, if that is a folder, the model.safetensors in it. Throws Error
// if the folder has none.
std::filesystem::path init_file(const std::filesystem::path& given);

// Tensors of the model that the file must have with the right shape: all, or at least one (--init-partial).
enum class InitExtent : uint8_t { whole, partial };

// Loads into the store every tensor of the file that has the name and shape of a parameter or running statistic, and
// converts its floating-point type if necessary. With a scope, the file is that of the model's part under this scope:
// its names stand behind it ("fc.weight" of the file is "teacher.fc.weight"), and all else keeps its initial values.
// `given` is as for init_file(). If all names begin with "module.", as PyTorch's DataParallel writes them, this prefix
// is removed. `say` gets a line about the loaded tensors, and lines about those that were converted or did not match.
// Throws Error, and has then changed nothing, if a tensor of the model, or of its part, is missing or has another
// shape; with InitExtent::partial such tensors keep their values, and Error is thrown only if no tensor matches. Also
// throws Error if a matching tensor holds values that are not finite.
void init_weights(StateStore& store, const std::filesystem::path& given, InitExtent extent, const std::string& scope,
                  const std::function<void(const std::string&)>& say);

}  // namespace kb
