// What measurements of many minibatches and learning rates say: the best rate of each minibatch, the steps to the
// target there, the critical minibatch, and where a larger minibatch stops to pay.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "optim/critical_batch.h"
#include "optim/scaling_regions.h"
#include "recipes/answer/measurement.h"
#include "recipes/answer/target_cost.h"
#include "recipes/answer/target_noise.h"

namespace kb {

struct SeedResult {
  std::optional<int64_t> seed;  // nothing: it was not noted
  std::optional<double> steps;  // to the target; nothing: it was not reached
  bool diverged = false;
  bool hopeless = false;  // see Measurement
};

// Runs of one minibatch at one learning rate and one setting of whatever else was varied.
struct RateResult {
  std::optional<double> rate;         // nothing: rates were not noted
  std::string setting;                // "momentum=0.95"; empty: the rate alone was varied
  std::vector<double> steps;          // those of the runs that reached the target
  std::vector<double> given_up = {};  // steps of the runs that neither reached it nor diverged, where they are known
  size_t runs = 0, diverged = 0, hopeless = 0;
  std::vector<SeedResult> seeds;  // of every run
  std::optional<double> seconds;  // mean over the runs that reached the target, where all have them

  double mean_steps() const { return geometric_mean(steps); }
};

struct MinibatchResults {
  int64_t minibatch = 0;
  std::vector<RateResult> rates = {};  // ascending; of one rate by setting
};

// Returns the seeds that every rate of the minibatch has.
std::set<int64_t> common_seeds(const MinibatchResults& at);

// Keeps the runs under the seeds that every rate of the minibatch has, so that what is compared is alike: a sweep gives
// its best trial further seeds. Where there is no such seed, keeps all.
MinibatchResults of_common_seeds(MinibatchResults at);

// A minibatch at its best rate: by the runs under the seeds that all of its rates have, as those of a sweep's search,
// or by all runs where there is no such seed. Of the rates at which more than half of these reached the target, more
// than half as many as at any other such rate, and at most half of all runs diverged, it is the one with the fewest
// steps; of equals the one with more runs.
struct BestResult {
  int64_t minibatch = 0;
  RateResult best;
  bool is_least = false, is_greatest = false;  // end of several rates tried: a better one may lie beyond
  std::optional<double> diverged_from;         // least rate above the best at which a run diverged
  // Rates around the best one that seeds do not tell from it, of those tried: their log steps are less than the 95 % of
  // a difference above the best one's, by the scatter of all seeds. An end is open where the rates tried end. Nothing
  // without a scatter.
  std::optional<ConfidenceInterval> rate_interval;
  double steps = 0;                                     // geometric mean over the runs, those that were given up, too
  std::optional<ConfidenceInterval> interval;           // that of the steps; nothing where no minibatch has two runs
  double samples = 0;                                   // minibatch x steps
  double efficiency = 0;                                // samples of the base minibatch over these; 1: perfect scaling
  std::optional<double> linear_rate, square_root_rate;  // that follow from the base minibatch's best
  // Rate / (1 - momentum), where momentum was searched: the effective learning rate of Shallue et al. 2019.
  std::optional<double> effective_rate;
};

// A minibatch at which the target was not reached.
struct MissedResult {
  int64_t minibatch = 0;
  size_t runs = 0, diverged = 0;
  // Steps that the best of the rates tried takes at least: the fewest, over the rates, to which a run was given up.
  // Nothing where all diverged or no steps are known.
  std::optional<double> least_steps;
};

// Least-squares line of log steps over log minibatch, over a range of minibatches.
struct SlopeOfSteps {
  int64_t first = 0, last = 0;  // minibatch
  size_t minibatches = 0;
  double slope = 0;           // -1 is perfect scaling
  double standard_error = 0;  // follows from the residuals
};

struct StudyAnswer {
  std::vector<MinibatchResults> all;   // every minibatch, ascending
  std::vector<BestResult> best;        // of minibatches at which the target was reached, ascending
  std::vector<MissedResult> missed;    // the other minibatches, ascending
  size_t base = 0;                     // place in `best` of the minibatch that others are measured against
  std::vector<MeanSteps> measured;     // steps of `best`
  std::optional<CriticalBatch> fit;    // residuals are of `best`
  std::optional<LinearBatchFit> line;  // beside it
  std::string no_fit;                  // why there is none
  std::vector<double> slopes;          // log steps over log minibatch, from each of `best` to the next; -1 is perfect
  // From the first minibatch to the last that the fit has in perfect scaling, and from the first to the last of all:
  // those of three minibatches or more.
  std::vector<SlopeOfSteps> slopes_of_ranges;
  std::optional<ClusterCost> cluster;  // where a forecast was given

  std::optional<TargetNoise> noise;  // that of the part that the target was judged on, where it is known

  const BestResult& base_result() const { return best[base]; }
  // Nothing without a fit.
  std::optional<ScalingRegion> region_of(const BestResult& one) const;
};

struct AnswerOptions {
  std::optional<int64_t> base_minibatch;       // nothing: the smallest that reached the target
  std::optional<TargetNoise> noise = {};       // that of the part that the target was judged on
  std::optional<ScaleForecast> forecast = {};  // of a cluster, on which the target's cost is asked for
};

// Throws Error where no minibatch reached the target, the base minibatch did not, or a cost is asked for and there is
// no fit.
StudyAnswer answer_study(std::span<const Measurement> runs, const AnswerOptions& options);

}  // namespace kb
