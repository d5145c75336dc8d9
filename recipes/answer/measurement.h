// One training of a study of minibatches, whoever measured it: what a study answers follows from many of these.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace kb {

struct Measurement {
  int64_t minibatch = 0;               // samples of a step
  std::optional<double> rate;          // learning rate; nothing: it was not noted
  std::optional<int64_t> seed;         // nothing: it was not noted
  std::optional<double> steps;         // to the target; nothing: it was not reached
  bool diverged = false;               // never of a run that reached the target
  std::optional<double> samples = {};  // that the run saw in all: to the target, or until it was given up
  std::optional<double> seconds = {};  // likewise
  std::string setting = {};            // whatever else was varied: "momentum=0.95"
  // A sweep's trial that took more than SweepConstants::hopeless x the steps of its minibatch's best one: it was
  // stopped there, or would have been, had the best one been done before.
  bool hopeless = false;
};

// A learning rate (nothing: it was not noted), and whatever else was varied.
using RateSetting = std::pair<std::optional<double>, std::string>;

}  // namespace kb
