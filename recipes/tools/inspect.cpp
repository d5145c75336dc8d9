// summary: what the compiler makes of a recipe: passes, schedule, memory, kernels
#include <fmt/format.h>
#include "recipes/tools/commands.h"

#include "recipes/inspect/inspect.h"
#include "recipes/inspect/inspect_pictures.h"
#include "recipes/inspect/inspect_programs.h"
#include "recipes/run/console.h"
#include "recipes/run/step_picture.h"
#include "recipes/run/tool.h"
#include "recipes/train/device.h"
#include "recipes/train/programs.h"

namespace kb {
namespace {

Programs inspect_on_device(const ToolCall& call, const InspectOptions& options) {
  World world(make_local_communicator());  // programs may be for several processes, but none runs
  Device device = choose_device(call.config.machine, call.config.arithmetic.shards, &world);
  Programs programs = compiled_for(call, device.backend->target());
  const Compiled& compiled = chosen(programs, options);
  LoadReport load;
  const std::vector<const Schedule*> schedules = compiled.program.all();
  device.backend->load(schedules, {}, load);
  if (!options.json)
    print_heading(call, device.backend->description(),
                  reason_and_note(device, call.config.machine, call.config.arithmetic.products));
  fmt::print("{}", options.json ? inspection_json(compiled, load) + "\n"
                                : inspection_text(compiled, load, usable_columns(kTableColumns)));
  return programs;
}

}  // namespace

int inspect_command(const ToolArguments& arguments) {
  InspectOptions options;
  std::optional<ToolCall> call = parse_tool_call(
      arguments, "Shows what the compiler makes of a recipe: passes, schedule, memory, kernels.",
      {{{"--json", "", "one JSON object in place of the tables"}, &options.json},
       {{"--predict", "", "show the evaluation in place of the training step"}, &options.predict},
       {{"--target", "ARCH", "compile for a GPU that need not be here, its kernels by NVRTC: sm_80, sm_90, sm_100"},
        &options.target},
       {{"--rates", "B,F",
         "with --target: predict the time of every launch on an h100, an h200, or a GPU of which you know the rates of "
         "copying and of matrix products: 4.8TB/s,790TFLOP/s"},
        &options.rates}});
  if (!call) return 0;
  if (!options.rates.empty() && options.target.empty())
    throw UsageError("--rates: expected --target ARCH, the GPU that they are of");
  check_picture(call->config, options);
  if (call->config.looking.explain_overlap) {
    if (options.json || options.predict || !options.target.empty())
      throw UsageError(
          "--explain-overlap: it times the training step on this machine and prints a table, so --json, "
          "--predict and --target do not go with it");
    return explain_overlap(std::move(*call)), 0;
  }
  const Inspected inspected = options.target.empty() ? Inspected{inspect_on_device(*call, options), std::nullopt}
                                                     : inspect_for_target(*call, options);
  write_dumps(call->config, inspected.programs.dumps);
  if (!wants_picture(call->config)) return 0;
  const std::string line = options.target.empty()
                               ? draw_measured(*call, options)
                               : draw_from_rates(*call, options, chosen(inspected.programs, options), *inspected.model);
  fmt::print(options.json ? stderr : stdout, "{}\n", line);
  return 0;
}

}  // namespace kb
