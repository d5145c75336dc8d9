// summary: what the compiler makes of a recipe: passes, schedule, memory, kernels
#include <fmt/format.h>

#include "recipes/device.h"
#include "recipes/inspect.h"
#include "recipes/programs.h"
#include "recipes/table.h"
#include "recipes/tool.h"
#include "runtime/atomic_file.h"

namespace {

using namespace kb;

int inspect(const std::vector<std::string>& arguments) {
  bool json = false, predict = false;
  std::optional<ToolCall> call =
      parse_tool_call("inspect", arguments,
                      {{{"--json", "", "one JSON object in place of the tables"}, &json},
                       {{"--predict", "", "the evaluation in place of the training step"}, &predict}});
  if (!call) return 0;
  Device device = choose_device(call->flags);
  Programs programs = compile_programs(call->recipe, call->flags, input_spec(image_source(call->recipe, call->flags)),
                                       device.backend->target());
  const Compiled& compiled = predict ? programs.inference : programs.training;
  LoadReport load;
  const Schedule* const schedules[] = {&compiled.program.prepare, &compiled.program.final};
  device.backend->load(schedules, load);
  if (json) {
    fmt::print("{}\n", inspection_json(compiled, load));
  } else {
    fmt::print("{} on {} ({}), minibatch {}, {}\n\n", call->recipe.name, device.backend->description(), device.reason,
               call->flags.minibatch, call->flags.precision);
    fmt::print("{}", inspection_text(compiled, load));
  }
  write_dumps(call->flags, programs.dumps);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return kb::guarded_main("inspect", [&] { return inspect({argv + 1, argv + argc}); });
}
