#include "compiler/schedule.h"

#include <algorithm>

namespace kb {

int32_t Step::reduction() const {
  if (const ExchangeStart* begun = start()) return begun->number;
  const auto* wait = std::get_if<ExchangeWait>(&work);
  return wait ? wait->number : -1;
}

const ir::Kernel* Schedule::kernel_of(const Step& step) const {
  const KernelLaunch* launch = step.launch();
  return launch && launch->kernel >= 0 ? &kernels[static_cast<size_t>(launch->kernel)] : nullptr;
}

bool touches(const Step& step, const Step& exchange) {
  const View there = exchange.operands.at(0);
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const View view = step.operands[i];
    if (view.buffer == there.buffer && view.offset < there.offset + exchange.extents.at(0) &&
        there.offset < view.offset + step.extents.at(i))
      return true;
  }
  return false;
}

namespace {

// Returns the greatest number of bytes of the parts that a lane calls, one after another. A part that is never called
// counts for lane 0.
int64_t greatest(const Program& program, int32_t lane, int64_t Schedule::*bytes) {
  int64_t most = 0;
  for (size_t part = 0; part < program.parts.size(); ++part) {
    bool here = false, called = false;
    for (const Routine& routine : program.routines)
      for (const PartCall& call : routine) {
        called |= call.part == part;
        here |= call.part == part && call.lane == lane;
      }
    if (here || (!called && lane == 0)) most = std::max(most, program.parts[part].*bytes);
  }
  return most;
}

}  // namespace

int64_t arena_bytes(const Program& program, int32_t lane) { return greatest(program, lane, &Schedule::arena_bytes); }

int64_t arena_bytes(const Program& program) { return arena_bytes(program, 0) + arena_bytes(program, 1); }

int64_t liveness_bound_bytes(const Program& program) {
  return greatest(program, 0, &Schedule::liveness_bound_bytes) + greatest(program, 1, &Schedule::liveness_bound_bytes);
}

int64_t lanes(const Program& program) {
  for (const Routine& routine : program.routines)
    for (const PartCall& call : routine)
      if (call.lane > 0) return 2;
  return 1;
}

}  // namespace kb
