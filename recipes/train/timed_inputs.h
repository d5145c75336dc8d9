// Inputs of a step that is timed: noise, and rates that leave the parameters as they are, so that every step does the
// same.
#pragma once
#include "recipes/config/flags.h"
#include "runtime/session.h"

namespace kb {

void fill_timed_inputs(Session& session, const Recipe& recipe, const InputSpec& input, const RunConfig& config);

}  // namespace kb
