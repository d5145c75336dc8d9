// What processes tell each other about the copies of the parameters that each has alone (--policy local on several
// processes): rank 0 gets the state of all, so that checkpoints and hashes are those of a run in one process.
#pragma once
#include "recipes/train/parts.h"

namespace kb {

// Collective call. Gives rank 0 the state of the copies that other processes have, one copy after another. Does nothing
// if this process has all copies, or if none takes steps yet.
void gather_copies(const LoopParts& parts);

// Collective call. Sets the optimizer's slots of each copy to their mean over all copies, which is summed in the order
// of the copies' numbers.
void average_slots(const LoopParts& parts);

}  // namespace kb
