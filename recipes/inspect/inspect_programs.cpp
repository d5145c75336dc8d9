#include "recipes/inspect/inspect_programs.h"

#include <fmt/format.h>

#include "recipes/config/run_task.h"
#include "recipes/papers/table.h"
#include "recipes/train/residency.h"

namespace kb {

const Compiled& chosen(const Programs& programs, const InspectOptions& options) {
  return options.predict ? programs.inference : programs.training;
}

Programs compiled_for(const ToolCall& call, const Target& target) {
  const Task task = declared_task(call.recipe, call.config);
  return compile_programs(task, call.config, target, choose_residency(call.config, task, target));
}

void print_heading(const ToolCall& call, const std::string& where, const std::string& reason) {
  fmt::print("{} on {}\n{}\nminibatch {}, {}\n\n", call.recipe.name, where, reason, call.config.minibatch,
             word_of(kPrecisions, call.config.precision));
}

std::vector<const Schedule*> last_routine(const Compiled& compiled) {
  return compiled.program.parts_of(compiled.program.routines.at(0));
}

}  // namespace kb
