// The timeline of a training step as a drawing and as a trace.
#pragma once
#include <string>

#include "recipes/perf/timeline.h"

namespace kb {

// Returns a self-contained SVG. It has lanes over an axis of time, with boxes in the colour of their kind and lines
// from the step that starts an all-reduce over it to the step that waits for it; above them a strip of the phases,
// whose colours shade the background; below them the live memory and its largest tensors at the peak; a legend at the
// right. A box has a label if it fits, and a tooltip that says more.
std::string picture_svg(const Timeline& timeline);

// Returns the events of one process in the Chrome trace format, one per line, for trace_json(). A lane is a thread
// there, the live memory a counter.
std::string trace_events(const Timeline& timeline, int64_t rank);
// Returns the text of a file for Perfetto or chrome://tracing, from the events of every process.
std::string trace_json(const std::vector<std::string>& events);

}  // namespace kb
