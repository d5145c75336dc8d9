// The checks of a task before it is trained, and the members that follow from others.
#pragma once
#include "recipes/task/task.h"

namespace kb {

// Returns the task with train_count and test_count from its sources, with `train` as `plain` if that is null, and with
// its labels bounded by `classes`. If classes > 0 and no field has the bound `classes` (or classes + 1, for a loss that
// ignores one more label), the labels are taken to be the only i32 field without a bound or, among several such fields,
// the only scalar one; if this does not single out a field, none gets the bound. A task whose data will be read later
// (Task::read) gets nothing but this bound. Throws Error if there is no training part, if check_fields() does, if
// `classes` is below 0 or beyond the labels' i32, or if a source holds a field in another dtype than the task declares.
Task checked_task(Task task);

}  // namespace kb
