// Starts the processes of a run (--processes), or joins those that a launcher has started.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/run_config.h"
#include "recipes/train/world.h"

namespace kb {

// Runs `command` as --processes processes until they end and returns their exit code; returns nothing if --processes is
// 1 or a launcher has started this process. `resumes`: the run goes on, and its own flags are not known yet. Throws
// UsageError if flags do not go together, and Error if the launcher is missing or the machine has no room for them.
std::optional<int> launch_processes(const RunConfig& config, bool resumes, const std::vector<std::string>& command);
// Joins the processes that a launcher started, and sets their number in `config`. Throws UsageError if --processes has
// another number, and Error if a library is missing.
std::unique_ptr<World> join_world(RunConfig& config);

}  // namespace kb
