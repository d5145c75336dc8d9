#include "recipes/models/export.h"

#include <fmt/format.h>

#include <map>

#include "graph/dtype.h"
#include "optim/wrapped_rules.h"
#include "recipes/run/resume.h"
#include "runtime/safetensors.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

// Turns a parameter into its average by adding the average's offset from it.
void add_offset(NamedTensor& parameter, const NamedTensor& offset) {
  const DType dtype = parameter.type.dtype;
  for (int64_t i = 0; i < parameter.type.elements(); ++i)
    store_element(dtype, parameter.data.data(), i,
                  load_element(dtype, parameter.data.data(), i) + load_element(dtype, offset.data.data(), i));
}

}  // namespace

Checkpoint newest_whole_checkpoint(const fs::path& folder, const std::function<void(const std::string&)>& say) {
  const std::vector<fs::path> paths = list_checkpoints(folder);
  for (const fs::path& path : paths) {
    try {
      return read_checkpoint(path);
    } catch (const Error& error) {
      say(fmt::format("passed over: {}", error.what()));
    }
  }
  throw Error(fmt::format(
      "there is no checkpoint that is whole in {}\n  expected: a run folder, which holds {}\n  got:      {}",
      folder.string(), "manifest.json and checkpoints/step-N.safetensors",
      paths.empty() ? "no checkpoint there" : fmt::format("{} of them, all damaged", paths.size())));
}

std::vector<NamedTensor> exported_tensors(const Checkpoint& checkpoint, bool averaged) {
  std::vector<NamedTensor> tensors = model_tensors(checkpoint);
  if (!averaged) return tensors;
  std::map<std::string_view, const NamedTensor*> all;
  for (const NamedTensor& tensor : checkpoint.tensors) all[tensor.name] = &tensor;
  bool has_average = false;
  for (NamedTensor& tensor : tensors) {
    const std::string name = std::string(kEmaOffset) + "." + tensor.name;
    const auto offset = all.find(name);
    if (offset == all.end()) continue;
    add_offset(tensor, *offset->second);
    has_average = true;
  }
  if (!has_average)
    throw Error(fmt::format("--ema: {} holds no averaged parameters\n  hint:     a run averages them with --ema D",
                            checkpoint.path.string()));
  return tensors;
}

Checkpoint export_model(const ExportRequest& request, const std::function<void(const std::string&)>& say) {
  std::error_code error;
  if (!fs::is_directory(request.run, error))
    throw Error(fmt::format("there is no run folder {}", request.run.string()));
  if (is_own_file(request.run, request.to))
    throw Error(
        fmt::format("--to {}: expected a file that is not the run's own\n  hint:     name another; {} is as it was",
                    request.to.string(), request.run.string()));
  const fs::path folder = checkpoints_of(request.run);
  Checkpoint checkpoint = request.checkpoint.empty() ? newest_whole_checkpoint(folder, say)
                                                     : read_checkpoint(named_checkpoint(folder, request.checkpoint));
  const std::vector<NamedTensor> tensors = exported_tensors(checkpoint, request.averaged);
  write_safetensors(
      request.to, views_of(tensors),
      {{"format", "pt"}, {"recipe", checkpoint.fact("recipe")}, {"step", std::to_string(checkpoint.step)}});
  return checkpoint;
}

}  // namespace kb
