// Three regions of minibatches (Shallue et al. 2019, arXiv 1811.03600): perfect scaling, where twice the minibatch
// takes half the steps to the target; diminishing returns; and no gain. They follow from the fitted law, so no single
// minibatch is the measure for the others.
#pragma once
#include <cstdint>
#include <vector>

#include "optim/critical_batch.h"

namespace kb {

enum class ScalingRegion : uint8_t { perfect, diminishing, no_gain };
const char* text_of(ScalingRegion region);  // returns "perfect scaling" and so on

// Returns the region of a minibatch: perfect up to perfect_end, diminishing up to gain_end, then no gain.
ScalingRegion region_at(const ScalingFit& fit, double minibatch);

}  // namespace kb
