// Trials an hour on a cluster: one after another, each on all workers, or side by side, each on one worker with the
// minibatch of one.
#pragma once
#include <string>
#include <vector>

#include "recipes/answer/target_cost.h"

namespace kb {

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
