// Training samples that are held out to judge a training by, so that the test part is looked at once, at its end.
#pragma once
#include <cstdint>

#include "recipes/task/task.h"

namespace kb {

// Returns the task with `count` samples of its training part as Task::valid, without augmentation, and the others as
// its training part; unchanged where count is 0, or where it has such a part already. Those held out are the last
// `count` of the permutation of seed 0 of all training samples (data/order.h): they depend on the number of training
// samples alone, so that runs of several seeds are judged alike. A task without sources gets the counts alone. Throws
// Error where no training sample is left, for noise, and where neither such samples nor a test part are there.
Task with_validation(Task task, int64_t count);

}  // namespace kb
