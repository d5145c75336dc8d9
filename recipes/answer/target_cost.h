// The cost of the target on a cluster: steps by the fit times the seconds of a step by a forecast of the command scale.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "optim/critical_batch.h"
#include "recipes/inspect/scaling.h"

namespace kb {

// The cost of the target with one number of workers.
struct TargetCost {
  ScaleRow at;
  double steps = 0, samples = 0;  // steps and samples to the target, by the fit
  double seconds = 0;             // seconds to the target: steps x seconds of a step
  bool is_measured = true;        // true if its minibatch lies between the least and the greatest that were measured
};

struct ClusterCost {
  std::string title, nodes, policy;  // texts of the forecast
  std::vector<TargetCost> rows;      // in ascending order of workers, 1 first
  size_t fastest = 0;                // index of the row with the fewest seconds
  size_t paying = 0;                 // index of the last row up to which each saves kPayingSaving of the time before it
};

// Share of the time that doubled workers have to save to pay.
inline constexpr double kPayingSaving = 0.25;

// Returns the cost for each row of a forecast. `measured`: the least and the greatest minibatch of the law's fit.
ClusterCost target_cost(const ScalingLaw& law, const ScaleForecast& forecast, std::pair<double, double> measured);

// Returns a table of 80 columns; cost_sentence() returns a sentence to follow it.
std::string cost_table(const ClusterCost& cost);
std::string cost_sentence(const ClusterCost& cost);

// Trials an hour: one after another, each on all workers, or side by side, each on one worker with the minibatch of
// one.
struct TrialRates {
  int workers = 1;
  double one_by_one = 0, side_by_side = 0;  // trials an hour to the target
  // Factor by which one trial ends sooner on all workers than among those that run side by side.
  double sooner() const { return one_by_one * workers / side_by_side; }
  // Factor by which side by side more trials end in an hour; its product with sooner() is the number of workers.
  double more() const { return side_by_side / one_by_one; }
};

// Returns the rates of each number of workers. A trial on one worker takes the steps of its minibatch by the fit, each
// as long as a worker of a forecast's row computes, which knows how many others of its node do.
std::vector<TrialRates> trial_rates(const ClusterCost& cost);

// Returns the text of a rate or a factor: "0.351", "64.2", "3104", "1.222M".
std::string rate_text(double value);

// Returns a table of 80 columns; trials_sentence() returns a sentence with both factors, where one trial takes least.
std::string trials_table(const ClusterCost& cost);
std::string trials_sentence(const ClusterCost& cost);

}  // namespace kb
