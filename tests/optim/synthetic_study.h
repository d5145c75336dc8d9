// Studies of a known law, to hold inference against.
#pragma once
#include <cstdint>
#include <vector>

#include "optim/critical_batch.h"

namespace kb::test {

struct StudyDesign {
  ScalingLaw law;
  std::vector<int64_t> minibatches;
  int seeds = 3;
  double deviation = 0.1;  // that of a seed's log steps
  double given_up = 0;     // share of the seeds that miss: those whose steps are beyond this quantile from above
  double shared = 0;       // deviation that all seeds of a minibatch have in common
};

// 2, 4, 8, ..., `count` of them.
std::vector<int64_t> doublings(int count);

std::vector<StepsToTarget> synthetic_study(const StudyDesign& design, uint64_t seed);

// One run a minibatch, without noise.
std::vector<StepsToTarget> exact_study(const ScalingLaw& law, int count);

inline bool holds(const ConfidenceInterval& interval, double value) {
  return interval.low <= value && value <= interval.high;
}

// How often intervals held the truth, and tests rejected.
struct Calibration {
  int64_t studies = 0;
  int64_t s_min = 0, b_crit = 0, e_min = 0, perfect_end = 0, gain_end = 0, rejected = 0;
  int64_t means = 0, held = 0;  // minibatches at which a seed hit

  double share(int64_t count) const { return 100.0 * static_cast<double>(count) / static_cast<double>(studies); }
  double share_of_means() const { return 100.0 * static_cast<double>(held) / static_cast<double>(means); }
};
// The studies of seeds 1 to `studies`.
Calibration calibrate(const StudyDesign& design, int64_t studies);

}  // namespace kb::test
