#include "recipes/inspect/inspect_programs.h"

#include <fmt/format.h>

#include "recipes/config/flag_names.h"
#include "recipes/config/run_task.h"
#include "recipes/inspect/device_kernels.h"
#include "recipes/inspect/inspect.h"
#include "recipes/papers/table.h"
#include "recipes/run/console.h"
#include "recipes/train/residency.h"
#include "runtime/cuda/open.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"

namespace kb {

const Compiled& chosen(const Programs& programs, const InspectOptions& options) {
  return options.predict ? programs.evaluate() : programs.update();
}

Programs compiled_for(const ToolCall& call, const Target& target) {
  const RunConfig& config = call.config;
  const Task task = declared_task(call.recipe, config);
  return compile_programs(task,
                          settle_for_one_step(config, target, config.machine.processes,
                                              choose_residency(config.arithmetic.resident, task, target)),
                          config.looking.dump);
}

void print_heading(const ToolCall& call, const std::string& where, const std::string& reason) {
  fmt::print("{} on {}\n{}\nminibatch {}, {}\n\n", call.recipe.name, where, with_flags(reason),
             call.config.batch.minibatch, word_of(kPrecisions, call.config.arithmetic.precision));
}

std::vector<const Schedule*> last_routine(const Compiled& compiled) {
  return compiled.program.parts_of(compiled.program.routines.at(0));
}

Inspected inspect_for_target(const ToolCall& call, const InspectOptions& options) {
  Target target = gpu_target(options.target);
  const DevicelessLibrary library = open_deviceless_library(options.target);
  target.library = library.query;
  Inspected result{compiled_for(call, target), std::nullopt};
  const Compiled& compiled = chosen(result.programs, options);
  const int jobs =
      call.config.machine.threads > 0 ? static_cast<int>(call.config.machine.threads) : usable_processors();
  const RuntimeOptions runtime = RuntimeOptions::from_environment();
  const DeviceKernels kernels = compile_device_kernels(compiled.program, target.isa, runtime.cache_dir.string(), jobs,
                                                       options.rates.empty() ? "" : runtime.cuobjdump);
  if (!options.rates.empty())
    result.model = model_step(last_routine(compiled), kernels.work, target, parse_gpu_rates(options.rates));
  if (!options.json) {
    print_heading(call, target.isa, fmt::format("no device is asked; library calls: {}", library.name));
  }
  const StepModel* model = result.model ? &*result.model : nullptr;
  fmt::print("{}", options.json ? inspection_json(compiled, kernels, model) + "\n"
                                : inspection_text(compiled, kernels, usable_columns(kTableColumns)));
  if (model && !options.json)
    fmt::print("{}", to_text(*model, last_routine(compiled), parse_gpu_rates(options.rates), {}, 0,
                             usable_columns(kTableColumns)));
  return result;
}

}  // namespace kb
