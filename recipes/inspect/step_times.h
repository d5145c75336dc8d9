// How long whole training steps take, as bench tells it.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/session.h"

namespace kb {

struct StepTimes {
  std::vector<double> ms;  // of a step, sorted; where `group` is above 1 the mean of a group's
  int64_t steps = 0;
  int64_t group = 1;  // steps that are timed together

  double min() const { return ms.front(); }
  double median() const { return ms[ms.size() / 2]; }
};

// Times `steps` steps (0: about 3 seconds of them) after a few that are not timed. A device runs behind its host, so
// its steps are timed in groups of 10, each from one wait for all work to the next.
StepTimes time_steps(Session& session, int64_t steps);

}  // namespace kb
