// The task of labelled images as a run's configuration asks for it.
#pragma once
#include <memory>

#include "recipes/config/augmentation.h"
#include "recipes/task/image_task.h"

namespace kb {

// Returns the task without its sources: it is all that is compiled. `input`: recipes/task/inputs.h.
Task task_of(const Recipe& recipe, const RunConfig& config, const InputSpec& input);
// Sets the sources of a task that task_of() gave.
void set_sources(Task& task, const RunConfig& config, const InputSpec& input, std::shared_ptr<const Dataset> data);
// Reads the data that the configuration names, and returns the task with its sources.
Task load_task(const Recipe& recipe, const RunConfig& config);
// Returns a task that is timed: its training part is one minibatch of noise.
Task timed_task(const Recipe& recipe, const RunConfig& config, const InputSpec& input);

}  // namespace kb
