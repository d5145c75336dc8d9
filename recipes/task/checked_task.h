// A task as it is trained: complete, and one with its sources.
#pragma once
#include "recipes/task/task.h"

namespace kb {

// Returns the task with the counts of its sources, with the training part where no other is named for statistics, and
// with labels bounded by `classes`: where no field is below that number, or one more for labels that the loss ignores,
// the one i32 field without a bound is; of several the one of a number a sample, of several such none. Throws Error
// where there is no training part, or a source holds a field in another dtype than the task declares.
Task checked_task(Task task);

}  // namespace kb
