// summary: what the compiler makes of a recipe: passes, schedule, memory, kernels
#include <fmt/format.h>

#include "recipes/device.h"
#include "recipes/device_kernels.h"
#include "recipes/inspect.h"
#include "recipes/programs.h"
#include "recipes/table.h"
#include "recipes/tool.h"
#include "runtime/cpu/pool.h"
#include "runtime/cuda/open.h"
#include "runtime/options.h"

namespace {

using namespace kb;

struct Wishes {
  bool json = false, predict = false;
  std::string target;
};

const Compiled& chosen(const Programs& programs, const Wishes& wishes) {
  return wishes.predict ? programs.inference : programs.training;
}

Programs compiled_for(const ToolCall& call, const Target& target) {
  const InputSpec input = input_spec(image_source(call.recipe, call.flags));
  return compile_programs(call.recipe, call.flags, input, target, choose_residency(call.flags, input, target));
}

void print_heading(const ToolCall& call, const std::string& where) {
  fmt::print("{} on {}, minibatch {}, {}\n\n", call.recipe.name, where, call.flags.minibatch, call.flags.precision);
}

// For a GPU that need not be there.
Programs inspect_for_target(const ToolCall& call, const Wishes& wishes) {
  Target target = gpu_target(wishes.target);
  const DevicelessLibrary library = open_deviceless_library(wishes.target);
  target.library = library.query;
  Programs programs = compiled_for(call, target);
  const Compiled& compiled = chosen(programs, wishes);
  const int jobs = call.flags.threads > 0 ? static_cast<int>(call.flags.threads) : usable_processors();
  const DeviceKernels kernels =
      compile_device_kernels(compiled.program, target.isa, RuntimeOptions::from_environment().cache_dir.string(), jobs);
  if (!wishes.json) {
    print_heading(call, fmt::format("{} (no device is asked)", target.isa));
    fmt::print("library calls: {}\n\n", library.name);
  }
  fmt::print("{}", wishes.json ? inspection_json(compiled, kernels) + "\n" : inspection_text(compiled, kernels));
  return programs;
}

Programs inspect_on_device(const ToolCall& call, const Wishes& wishes) {
  Device device = choose_device(call.flags);
  Programs programs = compiled_for(call, device.backend->target());
  const Compiled& compiled = chosen(programs, wishes);
  LoadReport load;
  const std::vector<const Schedule*> schedules = compiled.program.all();
  device.backend->load(schedules, load);
  if (!wishes.json) print_heading(call, fmt::format("{} ({})", device.backend->description(), device.reason));
  fmt::print("{}", wishes.json ? inspection_json(compiled, load) + "\n" : inspection_text(compiled, load));
  return programs;
}

int inspect(const std::vector<std::string>& arguments) {
  Wishes wishes;
  std::optional<ToolCall> call = parse_tool_call(
      "inspect", arguments,
      {{{"--json", "", "one JSON object in place of the tables"}, &wishes.json},
       {{"--predict", "", "the evaluation in place of the training step"}, &wishes.predict},
       {{"--target", "ARCH", "for a GPU that need not be here, its kernels by NVRTC: sm_80, sm_90, sm_100"},
        nullptr,
        nullptr,
        &wishes.target}});
  if (!call) return 0;
  const Programs programs =
      wishes.target.empty() ? inspect_on_device(*call, wishes) : inspect_for_target(*call, wishes);
  write_dumps(call->flags, programs.dumps);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return kb::guarded_main("inspect", [&] { return inspect({argv + 1, argv + argc}); });
}
