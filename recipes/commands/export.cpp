// a run's model as safetensors under PyTorch's names: export RUN --to FILE
#include "recipes/run/export.h"
#include "recipes/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "recipes/run/parse_app.h"
#include "runtime/standard_streams.h"

namespace kb {

int export_command(const ToolArguments& arguments) {
  ExportRequest request;
  CLI::App app("A run's model as safetensors: parameters and running statistics under PyTorch's names and layouts.",
               tool_usage(arguments));
  app.add_option("RUN", request.run, "the run's folder")->required();
  app.add_option("--to", request.to, "the file to write")->required();
  app.add_option("--checkpoint", request.checkpoint, "one of RUN/checkpoints, or a path; the newest that is whole");
  app.add_flag("--ema", request.averaged, "the averaged parameters of a run with --ema");
  if (!parse_app(app, arguments.words, tool_usage(arguments) + " RUN --to FILE")) return 0;
  const Checkpoint checkpoint = export_model(request, [](const std::string& line) { print_error("export: " + line); });
  int64_t elements = 0;
  const std::vector<NamedTensor> tensors = exported_tensors(checkpoint, request.averaged);
  for (const NamedTensor& tensor : tensors) elements += tensor.type.elements();
  fmt::print("{}: {} tensors, {} elements, after {} steps of {} ({})\n", request.to.string(), tensors.size(), elements,
             checkpoint.step, checkpoint.fact("recipe"), checkpoint.path.string());
  return 0;
}

}  // namespace kb
