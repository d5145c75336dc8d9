// A value of the data that is not finite: which field and sample has it. It is looked for where a loss is not finite.
#pragma once
#include <string>

#include "recipes/train/parts.h"

namespace kb {

// Looks at this process's samples of a training step, at the float fields that its program reads. Gives "field 'x' of
// training sample 77: value 3 of 5 is nan"; empty where all are finite.
std::string data_fault(const LoopParts& parts, int64_t step);
// Likewise, for the part that evaluations judge on: every process looks at all of it.
std::string judged_data_fault(const LoopParts& parts);

}  // namespace kb
