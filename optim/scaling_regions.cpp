#include "optim/scaling_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/error.h"

namespace kb {
namespace {

double samples_of(const MinibatchSteps& at) { return static_cast<double>(at.minibatch) * at.steps; }

double slope(const MinibatchSteps& from, const MinibatchSteps& to) {
  return std::log(to.steps / from.steps) /
         std::log(static_cast<double>(to.minibatch) / static_cast<double>(from.minibatch));
}

size_t place_of(std::span<const MinibatchSteps> measured, int64_t minibatch) {
  const auto at = std::find_if(measured.begin(), measured.end(),
                               [&](const MinibatchSteps& one) { return one.minibatch == minibatch; });
  if (at != measured.end()) return static_cast<size_t>(at - measured.begin());
  std::string known;
  for (const MinibatchSteps& one : measured) known += fmt::format("{}{}", known.empty() ? "" : ", ", one.minibatch);
  throw Error(fmt::format("base minibatch: expected one that reached the target: {}; got {}", known, minibatch));
}

}  // namespace

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

ScalingRegions scaling_regions(std::span<const MinibatchSteps> measured, int64_t base_minibatch,
                               std::optional<double> b_crit) {
  ScalingRegions result;
  result.base = place_of(measured, base_minibatch);
  const double most = (1 + kPerfectExcess) * samples_of(measured[result.base]);
  result.perfect_end = result.base;
  while (result.perfect_end + 1 < measured.size() && samples_of(measured[result.perfect_end + 1]) <= most)
    ++result.perfect_end;
  for (size_t i = 0; i < measured.size(); ++i) {
    const bool gains = !b_crit || static_cast<double>(measured[i].minibatch) <= kUsefulInCritical * *b_crit;
    result.regions.push_back(i <= result.perfect_end ? ScalingRegion::perfect
                             : gains                 ? ScalingRegion::diminishing
                                                     : ScalingRegion::no_gain);
    if (i > 0) result.slopes.push_back(slope(measured[i - 1], measured[i]));
  }
  return result;
}

}  // namespace kb
