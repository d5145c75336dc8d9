// A step that ran on a GPU, launch by launch, beside what the model predicts for that GPU.
#pragma once
#include <string>
#include <vector>

#include "recipes/inspect/schedule_table.h"
#include "runtime/session.h"

namespace kb {

struct MeasuredStep {
  std::vector<StepTime> launches;  // times of launches between two events each, from Session::profile()
  double graph_ms = 0;             // milliseconds of a step as it is trained: one captured graph
  double copy = 0;                 // bytes per second of the device's own copy
};

// Returns a table with one line per launch. Launches of less than 100 MB are not judged: the events around them take as
// long as they do. Without cuobjdump the model knows no instructions, and the table says so.
std::string measured_table(const Session& session, const Backend& backend, const MeasuredStep& measured,
                           int columns = kTableColumns);

}  // namespace kb
