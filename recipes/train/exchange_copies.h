// Gives every process the state of all copies of the parameters, so that checkpoints and hashes are those of a run in
// one process (--policy local on several processes).
#pragma once
#include "recipes/train/parts.h"

namespace kb {

// Collective call. Sets the state of copies that other processes compute with, one copy after another. Does nothing if
// this process computes with all copies, or if none takes steps yet.
void exchange_copies(const LoopParts& parts);

}  // namespace kb
