// Three regions of steps to a target against the minibatch (Shallue et al. 2019, arXiv 1811.03600): perfect scaling,
// where twice the minibatch takes half the steps, diminishing returns, and no gain. They follow from the fitted law,
// not from one minibatch that the others are held against.
#pragma once
#include <cstdint>
#include <vector>

#include "optim/critical_batch.h"

namespace kb {

enum class ScalingRegion : uint8_t { perfect, diminishing, no_gain };
const char* text_of(ScalingRegion region);  // "perfect scaling"

// The region of a minibatch: up to perfect_end, up to gain_end, and beyond.
ScalingRegion region_at(const ScalingFit& fit, double minibatch);

}  // namespace kb
