// One training of a study of minibatches, whoever measured it. A study is answered from many of these.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "recipes/trials/policy_flags.h"

namespace kb {

struct Measurement {
  int64_t minibatch = 0;        // samples per step
  std::optional<double> rate;   // learning rate; nothing: it was not noted
  std::optional<int64_t> seed;  // nothing: it was not noted
  std::optional<double> steps;  // steps to the target; nothing: it was not reached
  bool diverged = false;        // true if it diverged; never for a run that reached the target
  // Steps between evaluations, if `steps` ends at the first evaluation that reached the target. Nothing: `steps` ends
  // elsewhere, or the distance was not noted.
  std::optional<double> eval_every = {};
  std::optional<double> samples = {};  // samples that the run saw: to the target, or until it was given up
  std::optional<double> seconds = {};  // seconds that the run took: to the target, or until it was given up
  std::string setting = {};            // other values that were varied: "momentum=0.95"
  // True for a sweep's trial that took more than SweepConstants::hopeless times the steps of its minibatch's best one:
  // it was stopped there, or would have been if the best one had been done before.
  bool hopeless = false;
  PolicyFlags policy = {};  // how its workers were kept alike
  // Virtual seconds, and bytes that a process sent (recipes/answer/store_results.h): to the target, or until it was
  // given up. Nothing: not known.
  std::optional<double> clock_s = {}, sent_bytes = {};

  // Returns the steps at which the target was crossed: the middle between the evaluation that reached it and the one
  // before.
  std::optional<double> crossing() const { return steps ? *steps - eval_every.value_or(0) / 2 : steps; }
  // Returns the steps of a run that neither reached the target nor diverged; nothing: they are not known.
  std::optional<double> given_up() const {
    return !steps && !diverged && samples ? std::optional(*samples / static_cast<double>(minibatch)) : std::nullopt;
  }
};

// A learning rate (nothing: it was not noted), and the setting of other values that were varied.
using RateSetting = std::pair<std::optional<double>, std::string>;

}  // namespace kb
