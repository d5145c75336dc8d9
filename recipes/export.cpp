#include "recipes/export.h"

#include <fmt/format.h>

#include "recipes/resume.h"
#include "runtime/safetensors.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

Checkpoint newest_whole(const fs::path& folder, const std::function<void(const std::string&)>& say) {
  for (const fs::path& path : list_checkpoints(folder)) {
    try {
      return read_checkpoint(path);
    } catch (const Error& error) {
      say(fmt::format("passed over: {}", error.what()));
    }
  }
  throw Error(fmt::format("there is no checkpoint that is whole in {}", folder.string()));
}

}  // namespace

Checkpoint export_model(const ExportRequest& request, const std::function<void(const std::string&)>& say) {
  std::error_code error;
  if (!fs::is_directory(request.run, error))
    throw Error(fmt::format("there is no run folder {}", request.run.string()));
  if (is_own_file(request.run, request.to))
    throw Error(fmt::format("--to {}: expected a file that is not the run's own\n  hint: name another; {} is as it was",
                            request.to.string(), request.run.string()));
  const fs::path folder = checkpoints_of(request.run);
  Checkpoint checkpoint = request.checkpoint.empty() ? newest_whole(folder, say)
                                                     : read_checkpoint(named_checkpoint(folder, request.checkpoint));
  const std::vector<NamedTensor> tensors = model_tensors(checkpoint);
  write_safetensors(
      request.to, views_of(tensors),
      {{"format", "pt"}, {"recipe", checkpoint.fact("recipe")}, {"step", std::to_string(checkpoint.step)}});
  return checkpoint;
}

}  // namespace kb
