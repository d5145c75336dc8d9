// Exports the model of a run's checkpoint for other programs: parameters and running statistics under PyTorch's names
// and layouts, without optimizer state.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "runtime/checkpoint.h"

namespace kb {

struct ExportRequest {
  std::filesystem::path run;  // folder of the run, which may be in use
  std::string checkpoint;     // path of a file, or its name in the run; "" = the newest whole one
  std::filesystem::path to;
  bool averaged = false;  // whether to take the parameters that --ema averaged, not the last ones
};

// Returns the newest checkpoint of a folder that is whole. Calls `say` with a line for each damaged one that it passes
// over. Throws Error if no checkpoint is whole.
Checkpoint newest_whole_checkpoint(const std::filesystem::path& folder,
                                   const std::function<void(const std::string&)>& say);

// Returns the checkpoint's model; if `averaged`, its averaged parameters and its running statistics, and throws Error
// if the run has averaged none.
std::vector<NamedTensor> exported_tensors(const Checkpoint& checkpoint, bool averaged);

// Writes the model to `request.to` and returns the checkpoint that it came from. Calls `say` with a line for each
// damaged one that it passes over. Throws Error if none is whole, if the named one is damaged, or if `to` is a file of
// the run's own.
Checkpoint export_model(const ExportRequest& request, const std::function<void(const std::string&)>& say);

}  // namespace kb
