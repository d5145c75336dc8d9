// Inputs of a step that is timed: noise, and rates that leave the parameters as they are, so that every step does the
// same.
#pragma once
#include "recipes/config/run_config.h"
#include "runtime/session.h"

namespace kb {

// `noise`: a task whose training part is constant.
void fill_timed_inputs(Session& session, const Task& noise, const TrainConfig& config);

}  // namespace kb
