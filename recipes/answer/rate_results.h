// Measurements by minibatch, learning rate and setting.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "optim/mean_steps.h"
#include "recipes/answer/measurement.h"

namespace kb {

// The result of one run.
struct SeedResult {
  std::optional<int64_t> seed;  // nothing: it was not noted
  std::optional<double> steps;  // steps to the target; nothing: it was not reached
  // Steps of a run that neither reached the target nor diverged; nothing: they are not known.
  std::optional<double> given_up = {};
  bool diverged = false;
  bool hopeless = false;                                // see Measurement
  std::optional<double> clock_s = {}, sent_bytes = {};  // see Measurement
};

// The runs of one minibatch at one learning rate and one setting of other values that were varied.
struct RateResult {
  std::optional<double> rate;         // nothing: rates were not noted
  std::string setting;                // other values that were varied: "momentum=0.95"; empty: only the rate was
  std::vector<double> steps;          // steps of the runs that reached the target
  std::vector<double> given_up = {};  // steps, if known, of the runs that neither reached it nor diverged
  size_t runs = 0, diverged = 0, hopeless = 0;
  std::vector<SeedResult> seeds;  // results of all runs
  double eval_every = 0;          // most steps between evaluations of a run; 0: none was noted
  std::optional<double> seconds;  // mean over the runs that reached the target, if all have them
  PolicyFlags policy = {};        // how their workers were kept alike

  // Returns the geometric mean over the runs that reached the target, of which there is one at least, and those that
  // were given up, as if these had reached it then: a lower bound if there are such.
  double mean_steps() const;

  StepsToTarget steps_to_target(int64_t minibatch) const;
};

struct MinibatchResults {
  int64_t minibatch = 0;
  std::vector<RateResult> rates = {};  // in ascending order of rate, then setting
};

// Returns the seeds that every rate of the minibatch has.
std::set<int64_t> common_seeds(const MinibatchResults& at);

// Returns only the runs under the seeds that every rate of the minibatch has, so that like is compared with like: a
// sweep gives its best trial further seeds. Returns all runs if there is no such seed.
MinibatchResults of_common_seeds(MinibatchResults at);

// Returns the runs of each minibatch, in ascending order.
std::vector<MinibatchResults> results_by_minibatch(std::span<const Measurement> runs);

}  // namespace kb
