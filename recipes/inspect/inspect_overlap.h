// inspect --explain-overlap: communication and compute of a step of several processes, predicted from the times of one.
#pragma once
#include "recipes/run/tool.h"

namespace kb {

// Times the step of one of the processes here, alone, and prints the table. Throws UsageError where flags are missing.
void explain_overlap(ToolCall call);

}  // namespace kb
