// How many nodes, steps, launches and kernels a program has.
#pragma once
#include "compiler/schedule.h"

namespace kb {

struct ProgramTotals {
  size_t nodes = 0, steps = 0, launches = 0, distinct_kernels = 0;
};

ProgramTotals program_totals(const Program& program);

}  // namespace kb
