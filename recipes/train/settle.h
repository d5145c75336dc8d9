// Makes, once, every choice that a configuration leaves to the machine, with reasons for people.
#pragma once
#include "recipes/task/task.h"
#include "recipes/train/machine.h"
#include "recipes/train/settled.h"

namespace kb {

// Collective call: every process of the machine's world calls it with the same task and configuration. Makes every
// choice. The task may still lack its sources. Throws Error if no plan is possible, or if batch.fit finds the memory
// too small.
Settled settle(const Task& task, const TrainConfig& config, Machine machine);

}  // namespace kb
