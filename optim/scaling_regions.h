// Three regions of minibatches (Shallue et al. 2019, arXiv 1811.03600): perfect scaling, where twice the minibatch
// takes half the steps to the target; diminishing returns; and no gain. They follow from the fitted law, so no single
// minibatch is the measure for the others.
#pragma once
#include <cstdint>
#include <optional>

#include "optim/critical_batch.h"

namespace kb {

enum class ScalingRegion : uint8_t { perfect, diminishing, no_gain };
const char* text_of(ScalingRegion region);  // returns "perfect scaling" and so on

// Returns the region of a minibatch: perfect up to perfect_end, diminishing up to gain_end, then no gain. An end whose
// interval is open on one side tells a region only on the other side of its bound. Returns nothing where the ends do
// not tell.
std::optional<ScalingRegion> region_at(const ScalingFit& fit, double minibatch);

// Returns the minibatch below which all lie before this end, and that above which all lie behind it. Both are the
// fitted value if the interval is closed; of an open one they are its ends, 0 and infinity where these are not known.
ConfidenceInterval told_about(const Estimate& end);

}  // namespace kb
