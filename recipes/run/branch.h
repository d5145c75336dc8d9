// Flags that come from another run (--branch, --config), and the state that a branch begins with.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/run_config.h"
#include "recipes/run/branch_point.h"

namespace kb {

// Reads a command line as parse_flags does. Flags that are not given are those of a manifest with --config FILE, and
// with --branch RUN@WHEN those of that run without --stop-at, --target and --init. Throws Error if the manifest is
// missing, damaged or of another recipe, and UsageError if a branch would hold out samples that its run trained on, or
// take over AdaScale's state with another minibatch.
std::optional<RunConfig> parse_with_origin(const Recipe& recipe, const std::string& usage,
                                           const std::vector<std::string>& arguments);

// Returns the numbers of steps at which the run in a folder has checkpoints, the greatest first.
std::vector<int64_t> kept_steps(const std::filesystem::path& run);

// Opens the state that --branch RUN@WHEN names. WHEN is 20ep or 500st, where RUN must have a checkpoint, or best or
// last. Throws UsageError for other words, and Error if there is no such checkpoint, with the names of those there are,
// or if it is damaged.
BranchPoint open_branch(const std::string& branch);
// Opens the state that a run began with, which its manifest names; returns nothing if the run is no branch. `manifest`:
// the text of the file. Throws Error if the state is not there any more, or is another one.
std::optional<BranchPoint> recorded_branch(const std::string& manifest);

}  // namespace kb
