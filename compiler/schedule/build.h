// From ordered groups to a schedule: kernels lowered and shared, buffers with live ranges, views. Offsets come from
// plan_memory.
#pragma once
#include <memory>

#include "compiler/schedule.h"
#include "compiler/schedule/order.h"
#include "compiler/target.h"

namespace kb {

Schedule build_schedule(std::shared_ptr<const Graph> graph, const Ordered& ordered, const Target& target);

}  // namespace kb
