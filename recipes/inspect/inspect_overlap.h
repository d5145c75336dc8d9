// inspect --explain-overlap: predicts how a step of several processes overlaps communication and compute.
#pragma once
#include "recipes/run/tool.h"

namespace kb {

// Times the step of one of the processes here, alone, and prints the table. Throws UsageError if flags are missing.
void explain_overlap(ToolCall call);

}  // namespace kb
