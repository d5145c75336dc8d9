#include "recipes/inspect/inspect_programs.h"

#include <fmt/format.h>

#include "recipes/config/flag_names.h"
#include "recipes/config/run_task.h"
#include "recipes/papers/table.h"
#include "recipes/train/residency.h"

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

}  // namespace kb
