#include "optim/scaling_regions.h"

#include "graph/error.h"

namespace kb {

const char* text_of(ScalingRegion region) {
  switch (region) {
    case ScalingRegion::perfect:
      return "perfect scaling";
    case ScalingRegion::diminishing:
      return "diminishing returns";
    case ScalingRegion::no_gain:
      return "no gain";
  }
  throw InternalError("a region has no text");
}

ScalingRegion region_at(const ScalingFit& fit, double minibatch) {
  if (minibatch <= fit.perfect_end.value) return ScalingRegion::perfect;
  return minibatch <= fit.gain_end.value ? ScalingRegion::diminishing : ScalingRegion::no_gain;
}

}  // namespace kb
