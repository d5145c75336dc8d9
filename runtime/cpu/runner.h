// Takes steps on the CPU: inputs are filled in place, programs run one after another, and outputs are read where they
// lie.
#pragma once
#include <memory>

#include "runtime/backend.h"

namespace kb {

std::unique_ptr<Runner> make_cpu_runner(Backend& backend, RunnerParts parts);

}  // namespace kb
