// summary: a run's model as safetensors under PyTorch's names: export RUN --to FILE
#include "recipes/models/export.h"
#include "recipes/tools/commands.h"

#include <fmt/format.h>

#include "recipes/config/command_line.h"
#include "runtime/standard_streams.h"

namespace kb {

int export_command(const ToolArguments& arguments) {
  ExportRequest request;
  CommandLine line("A run's model as safetensors: parameters and running statistics under PyTorch's names and layouts.",
                   tool_usage(arguments) + " RUN --to FILE");
  line.text({"RUN", "", "the run's folder"}, request.run)
      .required()
      .text({"--to", "FILE", "the file to write"}, request.to)
      .required()
      .text({"--checkpoint", "FILE", "one of RUN/checkpoints, or a path; the newest that is whole"}, request.checkpoint)
      .flag("--ema", request.averaged, "the averaged parameters of a run with --ema");
  if (!line.parse(arguments.words)) return 0;
  const Checkpoint checkpoint = export_model(request, [](const std::string& line) { print_error("export: " + line); });
  int64_t elements = 0;
  const std::vector<NamedTensor> tensors = exported_tensors(checkpoint, request.averaged);
  for (const NamedTensor& tensor : tensors) elements += tensor.type.elements();
  fmt::print("{}: {} tensors, {} elements, after {} steps of {} ({})\n", request.to.string(), tensors.size(), elements,
             checkpoint.step, checkpoint.fact("recipe"), checkpoint.path.string());
  return 0;
}

}  // namespace kb
