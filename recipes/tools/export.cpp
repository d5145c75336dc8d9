// summary: a run's model as safetensors under PyTorch's names: export RUN --to FILE
#include "recipes/run/export.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "recipes/config/flags.h"
#include "recipes/run/guarded_main.h"
#include "runtime/standard_streams.h"

namespace {

int export_run(int argc, char** argv) {
  using namespace kb;
  ExportRequest request;
  CLI::App app("A run's model as safetensors: parameters and running statistics under PyTorch's names and layouts.",
               "./run export");
  app.add_option("RUN", request.run, "the run's folder")->required();
  app.add_option("--to", request.to, "the file to write")->required();
  app.add_option("--checkpoint", request.checkpoint, "one of RUN/checkpoints, or a path; the newest that is whole");
  app.add_flag("--ema", request.averaged, "the averaged parameters of a run with --ema");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; usage: ./run export RUN --to FILE", error.what()));
  }
  const Checkpoint checkpoint = export_model(request, [](const std::string& line) { print_error("export: " + line); });
  int64_t elements = 0;
  const std::vector<NamedTensor> tensors = exported_tensors(checkpoint, request.averaged);
  for (const NamedTensor& tensor : tensors) elements += tensor.type.elements();
  fmt::print("{}: {} tensors, {} elements, after {} steps of {} ({})\n", request.to.string(), tensors.size(), elements,
             checkpoint.step, checkpoint.fact("recipe"), checkpoint.path.string());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return kb::guarded_main("export", [&] { return export_run(argc, argv); });
}
