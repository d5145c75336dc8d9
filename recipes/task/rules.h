// Optimizers and learning-rate schedules that a recipe or a task adds to the built-in ones.
#pragma once
#include <vector>

#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace kb {

struct Rules {
  std::vector<Optimizer> optimizers = {};
  std::vector<ScheduleShape> schedules = {};
};

// Returns the rules of a Recipe or a Task.
template <class Owner>
Rules rules_of(const Owner& owner) {
  return {owner.optimizers, owner.schedules};
}

}  // namespace kb
