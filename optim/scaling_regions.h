// Three regions of steps to a target against the minibatch (Shallue et al. 2019, arXiv 1811.03600): perfect scaling,
// where twice the minibatch takes half the steps, diminishing returns, and no gain.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kb {

struct MinibatchSteps {
  int64_t minibatch = 0;
  double steps = 0;
};

// Perfect scaling ends, from the base minibatch on, before the first one that takes more than this share above the
// base's samples.
inline constexpr double kPerfectExcess = 0.2;

// The largest useful minibatch: a doubling from it saves this share of the steps by S(B) = S_min (1 + B_crit / B), one
// from a larger minibatch less. With x = B_crit / B a doubling saves (x / 2) / (1 + x), so that it is 4 B_crit.
inline constexpr double kUsefulSaving = 0.1;
inline constexpr double kUsefulInCritical = 0.5 / kUsefulSaving - 1;

enum class ScalingRegion : uint8_t { perfect, diminishing, no_gain };
const char* text_of(ScalingRegion region);  // "perfect scaling"

struct ScalingRegions {
  size_t base = 0, perfect_end = 0;         // places in what was measured
  std::vector<ScalingRegion> regions = {};  // of each minibatch
  std::vector<double> slopes = {};          // of log steps over log minibatch, from each to the next; -1 is perfect
};

// `measured` ascends by minibatch. Without a B_crit no minibatch is said to gain nothing. Throws Error where
// `base_minibatch` is none of them.
ScalingRegions scaling_regions(std::span<const MinibatchSteps> measured, int64_t base_minibatch,
                               std::optional<double> b_crit);

}  // namespace kb
