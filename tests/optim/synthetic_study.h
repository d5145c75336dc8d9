// Synthetic studies of a known law, with which tests compare what is inferred from a study.
#pragma once
#include <cstdint>
#include <vector>

#include "optim/critical_batch.h"

namespace kb::test {

struct StudyDesign {
  ScalingLaw law;
  std::vector<int64_t> minibatches;
  int seeds = 3;
  double deviation = 0.1;  // standard deviation of the logarithm of a seed's steps, at the first minibatch
  double given_up = 0;     // share of runs that are given up, which are those with the most steps
  double shared = 0;       // standard deviation of an error that all seeds of a minibatch have in common
  double growth = 1;       // deviation at the last minibatch over that at the first; between them it is a power of B
};

// Returns `count` minibatch sizes: 2, 4, 8, ...
std::vector<int64_t> doublings(int count);

std::vector<StepsToTarget> synthetic_study(const StudyDesign& design, uint64_t seed);

// Returns a study with one run per minibatch size, without noise.
std::vector<StepsToTarget> exact_study(const ScalingLaw& law, int count);

inline bool holds(const ConfidenceInterval& interval, double value) {
  return interval.low <= value && value <= interval.high;
}

// Counts of how often intervals held the truth, and how often the test rejected the law with k = 1.
struct Calibration {
  int64_t studies = 0;
  int64_t s_min = 0, b_crit = 0, e_min = 0, perfect_end = 0, gain_end = 0, rejected = 0;
  int64_t means = 0, held = 0;  // minibatch sizes with a mean; those whose interval held the truth
  int64_t held_last = 0;        // studies in which that of the last minibatch did

  double share(int64_t count) const { return 100.0 * static_cast<double>(count) / static_cast<double>(studies); }
  double share_of_means() const { return 100.0 * static_cast<double>(held) / static_cast<double>(means); }
};
// Counts over the studies with the seeds 1 to `studies`.
Calibration calibrate(const StudyDesign& design, int64_t studies);

}  // namespace kb::test
