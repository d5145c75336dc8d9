// Makes the instruments of a training.
#pragma once
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"
#include "recipes/train/step_feed.h"

namespace kb {

// Returns all instruments, in the order in which they are called. `parts` and `feed` must outlive them.
Instruments make_instruments(LoopParts& parts, StepFeed& feed);

}  // namespace kb
