// A model out of a run's checkpoint, as other programs read it: parameters and running statistics under PyTorch's names
// and layouts, without optimizer state.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "runtime/checkpoint.h"

namespace kb {

struct ExportRequest {
  std::filesystem::path run;  // its folder; it may be in use
  std::string checkpoint;     // a file, or its name in the run; "" = the newest that is whole
  std::filesystem::path to;
  bool averaged = false;  // the parameters as --ema has averaged them, in place of the last ones
};

// Returns the newest checkpoint of a folder that is whole. `say` is given a line for each damaged one that was passed
// over. Throws Error where there is none.
Checkpoint newest_whole_checkpoint(const std::filesystem::path& folder,
                                   const std::function<void(const std::string&)>& say);

// The checkpoint's model, or its averaged parameters and its running statistics. Throws Error where the run has
// averaged none.
std::vector<NamedTensor> exported_tensors(const Checkpoint& checkpoint, bool averaged);

// Gives the checkpoint that was taken. `say` is given a line for each damaged one that was passed over. Throws Error
// where there is none, or the named one is damaged.
Checkpoint export_model(const ExportRequest& request, const std::function<void(const std::string&)>& say);

}  // namespace kb
