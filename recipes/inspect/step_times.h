// Times whole training steps, for bench.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "recipes/inspect/schedule_table.h"
#include "runtime/session.h"

namespace kb {

struct StepTimes {
  std::vector<double> ms;  // milliseconds per step, sorted; means of the groups if `group` is above 1
  int64_t steps = 0;
  int64_t group = 1;  // number of steps that are timed together

  double min() const { return ms.front(); }
  double median() const { return ms[ms.size() / 2]; }
};

// Times `steps` steps (0: about 3 seconds of them) after a few that are not timed. The host enqueues a device's
// steps ahead, so they are timed in groups of 10, each from one wait for all work to the next.
StepTimes time_steps(Session& session, int64_t steps);

// Lets another program and this one step in turns. Each line of `in` is a turn, a number of milliseconds: a step (a
// group, on a device) that is not timed, then steps for so long, at least one. Writes a line for each turn, a JSON list
// of the milliseconds per step.
void take_turns(Session& session, std::istream& in, std::ostream& out);

// A step that ran on a GPU, launch by launch.
struct MeasuredStep {
  std::vector<StepTime> launches;  // times of launches between two events each, from Session::profile()
  double graph_ms = 0;             // milliseconds of a step as it is trained: one captured graph
  double copy = 0;                 // bytes per second of the device's own copy
};

// Returns a table with one line per launch, beside what the model predicts for that GPU. Launches of less than 100 MB
// are not judged: the events around them take as long as they do. Without cuobjdump the model knows no instructions,
// and the table says so.
std::string measured_table(const Session& session, const Backend& backend, const MeasuredStep& measured,
                           int columns = kTableColumns);

}  // namespace kb
