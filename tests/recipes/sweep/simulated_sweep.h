// A simulated sweep, whose net is a formula for the steps to the target by minibatch and rate. Trials advance in random
// order and are stopped as the plan says, as if several processes trained them.
#pragma once
#include <cmath>
#include <random>

#include "recipes/sweep/sweep_plan.h"

namespace kb::sweep_plan_test {

using End = TrialState;

// A training takes S(B) = least x (1 + critical / B) steps at the best rate, which grows with B up to `critical`. The
// steps grow with the square of the distance from that rate in octaves; a training diverges from three octaves above it
// on.
struct Net {
  double least = 100, critical = 64, rate = 0.001;  // `rate` is the best rate at minibatch 1

  double best_rate(int64_t minibatch) const { return rate * std::min(static_cast<double>(minibatch), critical); }
  double octaves(int64_t minibatch, double lr) const { return std::log2(lr / best_rate(minibatch)); }
  bool diverges(int64_t minibatch, double lr) const { return octaves(minibatch, lr) >= 3; }
  int64_t steps(int64_t minibatch, double lr, int64_t seed) const {
    const double away = octaves(minibatch, lr);
    const double chance = 1 + 0.01 * static_cast<double>(seed - 1);
    return std::llround(least * (1 + critical / static_cast<double>(minibatch)) * (1 + 0.3 * away * away) * chance);
  }
};

inline SweepDefinition definition_of(const std::string& range, std::vector<int64_t> minibatches) {
  SweepDefinition definition;
  definition.recipe = "net";
  definition.minibatches = std::move(minibatches);
  definition.ranges = {{parse_search(range), true, true}};
  definition.centre = {{"lr", 0.008}};
  definition.trials = 12;
  return definition;
}

// A sweep whose store is in memory.
struct Simulation {
  SweepDefinition definition;
  Net net = {};
  Standings standings = {};
  Openings openings = {};

  SweepPlan plan() const { return plan_sweep(definition, openings, standings); }

  void open(const SweepPlan& planned) {
    for (const MinibatchPlan& minibatch : planned.minibatches)
      if (minibatch.is_new) openings.emplace(minibatch.minibatch, minibatch.opening);
  }

  // One trial goes on by a part of its steps, or to its end.
  void advance(const PlannedTrial& trial, std::mt19937& random) {
    const double lr = std::stod(trial.values.at("lr"));
    TrialStanding& standing = standings[trial.name];
    const int64_t needed = net.steps(trial.minibatch, lr, trial.seed);
    const int64_t last = trial.most_steps > 0 ? trial.most_steps : 1'000'000;
    standing.steps += 1 + needed * static_cast<int64_t>(random() % 100) / 100;
    if (net.diverges(trial.minibatch, lr)) {
      standing = {TrialState::diverged, 7};
    } else if (standing.steps >= std::min(needed, last)) {
      const auto samples = static_cast<double>(needed * trial.minibatch);
      standing = needed <= last ? TrialStanding{TrialState::reached, needed, needed, samples}
                                : TrialStanding{TrialState::missed, last};
    }
  }

  SweepPlan run(unsigned seed) {
    std::mt19937 random(seed);
    for (int rounds = 0; rounds < 1'000'000; ++rounds) {
      const SweepPlan planned = plan();
      open(planned);
      const std::vector<const PlannedTrial*> waiting = planned.waiting();
      if (waiting.empty()) {
        if (planned.is_done()) return planned;
        continue;
      }
      advance(*waiting[random() % std::min<size_t>(waiting.size(), 4)], random);
    }
    throw std::logic_error("the sweep does not end");
  }
};

inline double best_lr(const MinibatchPlan& plan) {
  return std::stod(plan.trials.at(plan.best.value()).values.at("lr"));
}

inline size_t searches(const MinibatchPlan& plan) {
  return static_cast<size_t>(
      std::count_if(plan.trials.begin(), plan.trials.end(), [](const PlannedTrial& trial) { return trial.is_search; }));
}

}  // namespace kb::sweep_plan_test
