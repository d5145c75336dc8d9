// Steps made by hand, for tests that need only a step's class and the number of its all-reduce.
#pragma once
#include "compiler/schedule.h"

namespace kb::test {

// `reduction` numbers the all-reduce of an exchange or a wait.
inline Step hand_step(FusionClass cls, int32_t reduction = -1) {
  Step step;
  step.cls = cls;
  switch (traits(cls).kind) {
    case StepKind::kernel:
      step.work = KernelLaunch{};
      break;
    case StepKind::library:
      step.work = LibraryCall{};
      break;
    case StepKind::copy:
      step.work = Copies{};
      break;
    case StepKind::exchange:
      step.work = ExchangeStart{reduction};
      break;
    case StepKind::wait:
      step.work = ExchangeWait{reduction};
      break;
  }
  return step;
}

}  // namespace kb::test
