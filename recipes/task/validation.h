// Training samples that are held out, so that evaluations in the course of a training use them and the test part is
// evaluated only at the end.
#pragma once
#include <cstdint>

#include "recipes/task/task.h"

namespace kb {

// Returns the task with `count` of its training samples moved to Task::valid, without augmentation; the task is
// unchanged if `count` is 0 or it has held-out samples already. The held-out samples are the last `count` of the
// permutation of all training samples with seed 0 (data/order.h). They depend only on `count` and the number of
// training samples, so that runs with different seeds are judged on the same samples. If the task has no sources yet,
// only its counts change. Throws Error if no training sample would be left, if the training part is noise, or if a task
// with sources has neither held-out samples nor a test part.
Task with_validation(Task task, int64_t count);

}  // namespace kb
