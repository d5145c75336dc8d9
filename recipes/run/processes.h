// The processes of a run: started by --processes, or found as a launcher started them.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipes/train/world.h"

namespace kb {

// Runs `command` as --processes processes to their end and gives their exit code; nothing where that is 1 or a launcher
// has started this process. `resumes`: a run whose own flags are not known yet. Throws UsageError where the flags do
// not go together, and Error where something is missing.
std::optional<int> launch_processes(const RunConfig& config, bool resumes, const std::vector<std::string>& command);
// The processes that a launcher started, in `config` from then on. Throws UsageError where both differ, and Error
// where something is missing.
std::unique_ptr<World> join_world(RunConfig& config);

}  // namespace kb
