// share_kernels() finds kernels that differ in offsets alone (where a slice or a part of a concat begins), as those of
// the steps of an unrolled layer do, and makes one kernel of them, with an argument for each offset that differs.
#pragma once
#include "compiler/schedule.h"

namespace kb {

void share_kernels(Schedule& schedule);

}  // namespace kb
