// Finds a value of the data that is not finite, and names its field and sample. A run searches for one after a loss or
// its state was found not to be finite.
#pragma once
#include <string>

#include "recipes/train/parts.h"

namespace kb {

// Searches the float fields that the training program reads, in this process's samples of a step. Returns a text such
// as "field 'x' of training sample 77: value 3 of 5 is nan"; empty if all values are finite.
std::string data_fault(const LoopParts& parts, int64_t step);
// Does the same for the part of the data on which evaluations judge. Every process searches the whole part.
std::string judged_data_fault(const LoopParts& parts);

}  // namespace kb
