// Fills the inputs of a step that is to be timed: with noise, and with learning rates of 0, so that parameters do not
// change and every step does the same work.
#pragma once
#include "recipes/config/run_config.h"
#include "runtime/session.h"

namespace kb {

// `noise` is a task whose training part is constant (Source::is_constant).
void fill_timed_inputs(Session& session, const Task& noise, const TrainConfig& config);

}  // namespace kb
