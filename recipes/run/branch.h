// Flags that come from another run (--branch, --config), and the state that a branch begins with.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/run_config.h"
#include "recipes/run/branch_point.h"

namespace kb {

// Reads a command line as parse_flags does; with --config FILE the flags of a manifest, and with --branch RUN@WHEN
// those of that run (--stop-at apart), stand for what is not given. Throws Error for a manifest that is not there, is
// damaged or is of another recipe, and UsageError where a branch would hold out samples that its run trained on.
std::optional<RunConfig> parse_with_origin(const Recipe& recipe, const std::string& usage,
                                           const std::vector<std::string>& arguments);

// Opens the state that --branch RUN@WHEN names; WHEN is 20ep or 500st, of which there must be a checkpoint, best or
// last. Throws UsageError for other words, and Error for a point without a checkpoint, naming those there are, and for
// one that is damaged.
BranchPoint open_branch(const std::string& branch);
// Opens the state that a run begins with by its manifest, a text; nothing where it is no branch. Throws Error where
// the state is not there any more, or is another.
std::optional<BranchPoint> recorded_branch(const std::string& manifest);

}  // namespace kb
