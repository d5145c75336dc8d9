// Minibatches at which every run was given up although the fitted law has fewer steps there. The law is that of the
// minibatches that reached the target, so that it alone would say that larger ones gain more and more.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "optim/critical_batch.h"

namespace kb {

// A minibatch that no run brought to the target.
struct LeastSteps {
  int64_t minibatch = 0;
  double steps = 0;  // steps that its runs took at least
};

struct Contradiction {
  LeastSteps least;
  double fitted = 0;  // steps by the fitted law
};

// Returns the minibatches that took more steps than a run of the fitted law may take: more than the upper end of the 95
// % interval of the law's steps joined with that of one run's scatter.
std::vector<Contradiction> contradictions(const PooledSteps& measured, const ScalingFit& fit,
                                          std::span<const LeastSteps> missed);

// Takes back what a fit says of minibatches larger than the last one that was fitted: where B_crit, the end of perfect
// scaling or that of gain may lie beyond it, their intervals are open above and begin there at most, and S_min may be
// as great as the steps of the last one.
void withhold_beyond(const MeanSteps& last, ScalingFit& fit);

}  // namespace kb
