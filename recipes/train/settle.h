// Every choice that a training leaves to the machine is made here, once: a number, and its reason for a person.
#pragma once
#include "recipes/task/task.h"
#include "recipes/train/machine.h"
#include "recipes/train/settled.h"

namespace kb {

// Makes every choice. `task` may be without its sources. A collective call: every process of the machine's world makes
// it with the same task and config. Throws Error where no plan is possible, and where arithmetic.memory is too small.
Settled settle(const Task& task, const TrainConfig& config, Machine machine);

}  // namespace kb
