// Processes that have some copies of the parameters each (--policy local) send these to rank 0, so that checkpoints and
// hashes are those of a run in one process, and average the optimizer's slots of all.
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
