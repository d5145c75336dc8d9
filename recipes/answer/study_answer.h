// Answers a study from measurements at many minibatches and learning rates: the best rate of each minibatch, the steps
// to the target there, the critical minibatch, and where a larger minibatch stops to pay.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optim/critical_batch.h"
#include "optim/scaling_regions.h"
#include "recipes/answer/best_rates.h"
#include "recipes/answer/measurement.h"
#include "recipes/answer/target_cost.h"
#include "recipes/answer/target_noise.h"

namespace kb {

// A minibatch that no run brought to the target. Where every run was given up although the fitted law has fewer steps,
// the law, which is that of the minibatches that reached the target, is contradicted: it alone would say that larger
// ones gain more and more.
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

// The result of a minibatch at its best rate (recipes/answer/best_rates.h).
struct BestResult {
  int64_t minibatch = 0;
  RateResult best;
  bool is_least = false, is_greatest = false;       // true at an end of several rates tried: a better may lie beyond
  std::optional<double> diverged_from;              // least rate above the best at which a run diverged
  std::optional<ConfidenceInterval> rate_interval;  // rates as good, 95 %; an end is open where those tried end
  double steps = 0;                                 // geometric mean over the runs, those that were given up, too
  std::optional<ConfidenceInterval> interval;       // 95 % of the steps; nothing if no minibatch has two runs
  double samples = 0;                               // minibatch x steps
  double efficiency = 0;                            // samples of the base minibatch over `samples`; 1: perfect scaling
  std::optional<double> linear_rate, square_root_rate;  // rates that follow from the base minibatch's best
  // Rate / (1 - momentum), if momentum was searched: the effective learning rate of Shallue et al. 2019.
  std::optional<double> effective_rate;
};

// A minibatch without mean steps: at no rate more than half of the runs reached the target.
struct MissedResult {
  int64_t minibatch = 0;
  size_t runs = 0, diverged = 0, reached = 0;
  std::optional<double> fewest_steps = {}, most_steps = {};  // steps of the runs that reached the target
  // Lower bound of the steps at the best rate tried: the most steps of a run that was given up, at the rate where these
  // are fewest. Nothing if a run reached the target, if all diverged or no steps are known.
  std::optional<double> least_steps = {};
};

// A least-squares line of log steps over log minibatch, for a range of minibatches.
struct SlopeOfSteps {
  int64_t first = 0, last = 0;  // ends of the range
  size_t minibatches = 0;
  double slope = 0;           // -1 is perfect scaling
  double standard_error = 0;  // standard error of the slope, from the residuals
};

// The whole answer of a study.
struct StudyAnswer {
  std::vector<MinibatchResults> all;  // every minibatch, in ascending order
  std::vector<BestResult> best;       // minibatches with mean steps to the target, in ascending order
  std::vector<MissedResult> missed;   // the other minibatches, in ascending order
  size_t base = 0;                    // index in `best` of the minibatch that others are measured against
  PooledSteps measured;               // steps of each of `best`
  std::optional<CriticalBatch> fit;   // its residuals belong to `best`
  // Minibatches of `missed` that the fit contradicts. If one lies beyond `best`, the fit's intervals have been taken
  // back there.
  std::vector<Contradiction> contradicted;
  std::optional<LinearBatchFit> line;  // linear fit beside it
  std::string no_fit;                  // reason why there is no fit
  std::vector<double> slopes;          // log steps over log minibatch, from each of `best` to the next; -1 is perfect
  // Slopes from the first minibatch to the last one that the fit has in perfect scaling, and from the first to the last
  // of all; only ranges of three minibatches or more.
  std::vector<SlopeOfSteps> slopes_of_ranges;
  // Set if a forecast was given; without minibatches beyond `best` if the fit is contradicted there.
  std::optional<ClusterCost> cluster;

  std::optional<TargetNoise> noise;  // noise of the part of the data that judged the target, if it is known

  std::vector<StepsToTarget> runs_at_best() const;  // returns the runs of each of `best`
  const BestResult& base_result() const { return best[base]; }
  // Returns whether the fit contradicts a minibatch larger than all of `best`.
  bool is_contradicted_beyond() const {
    return !contradicted.empty() && contradicted.back().least.minibatch > best.back().minibatch;
  }
  // Returns nothing without a fit, and where it does not tell.
  std::optional<ScalingRegion> region_of(const BestResult& one) const;
};

struct AnswerOptions {
  std::optional<int64_t> base_minibatch = {};  // nothing: the smallest one that reached the target
  std::optional<TargetNoise> noise = {};       // noise of the part of the data that judged the target
  std::optional<ScaleForecast> forecast = {};  // forecast of a cluster, if the target's cost on it is asked for
};

// Returns the answer; if no minibatch reached the target, it has no best results, no fit, and the reason. Throws Error
// if the base minibatch did not reach it, or if a cost is asked for and there is no fit.
StudyAnswer answer_or_missed(std::span<const Measurement> runs, const AnswerOptions& options);

// Returns the answer. Throws Error as answer_or_missed() does, and if no minibatch reached the target.
StudyAnswer answer_study(std::span<const Measurement> runs, const AnswerOptions& options);

}  // namespace kb
