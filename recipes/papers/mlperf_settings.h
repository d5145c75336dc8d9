// Settings of MLPerf training's ResNet-50 by round and minibatch, from the logs of its rounds and the reference
// convergence points of its rules (mlcommons/training_policies, training_rules.adoc).
#pragma once
#include <cstdint>
#include <string>

#include "recipes/task/model.h"

namespace kb {

// Returns the flags of a round, which is "v0.5", "v0.6", "v0.7", or "rcp" for the reference convergence points. The
// notes name the row, the target and the settings that our sources do not give.
Preset mlperf_preset(const std::string& round, int64_t minibatch);

}  // namespace kb
