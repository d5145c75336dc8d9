// A step as a drawing and as a trace.
#pragma once
#include <string>

#include "recipes/perf/timeline.h"

namespace kb {

// An SVG that needs nothing else: lanes over an axis of time, boxes in the colour of their kind, lines from what starts
// an all-reduce over the all-reduce to what waits for it; over them a strip of the phases, forward, backward, update,
// whose colours shade the ground; under them the live memory and what it is at its peak; the legend stands to the
// right. A box whose label does not fit has none. It says more where the pointer rests on it.
std::string picture_svg(const Timeline& timeline);

// Events of one process in the Chrome trace format, one a line, to be put between the lines of others: a thread a lane,
// and the live memory as a counter.
std::string trace_events(const Timeline& timeline, int64_t rank);
// A file for Perfetto or chrome://tracing of every process's events.
std::string trace_json(const std::vector<std::string>& events);

}  // namespace kb
