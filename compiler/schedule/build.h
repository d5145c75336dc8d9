// build_schedule() turns ordered groups into a schedule: it lowers kernels and lets steps share equal ones, gives
// buffers live ranges, and gives every value a view of its memory. plan_memory() sets the offsets of the buffers later.
#pragma once
#include <memory>

#include "compiler/schedule.h"
#include "compiler/schedule/order.h"
#include "compiler/target.h"

namespace kb {

Schedule build_schedule(std::shared_ptr<const Graph> graph, const Ordered& ordered, const Target& target);

}  // namespace kb
