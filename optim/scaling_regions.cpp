#include "optim/scaling_regions.h"

#include "graph/enum_table.h"

namespace kb {

const char* text_of(ScalingRegion region) {
  constexpr EnumTable<ScalingRegion, const char*> kTexts({"perfect scaling", "diminishing returns", "no gain"});
  return kTexts[region];
}

ConfidenceInterval told_about(const Estimate& end) {
  return end.interval.has_low() && end.interval.has_high() ? ConfidenceInterval{end.value, end.value} : end.interval;
}

std::optional<ScalingRegion> region_at(const ScalingFit& fit, double minibatch) {
  const ConfidenceInterval perfect = told_about(fit.perfect_end), gain = told_about(fit.gain_end);
  if (minibatch <= perfect.low) return ScalingRegion::perfect;
  if (minibatch > gain.high) return ScalingRegion::no_gain;
  if (minibatch > perfect.high && minibatch <= gain.low) return ScalingRegion::diminishing;
  return std::nullopt;
}

}  // namespace kb
