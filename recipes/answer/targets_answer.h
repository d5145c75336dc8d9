// Answers a study for several values of a sweep's target figure, out of the same runs: how S_min, E_min and B_crit
// change as the figure gets better. Each target has its own best rate of each minibatch, by the rule of a study
// (BestResult): no other rule chooses a rate here.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optim/power_law.h"
#include "recipes/answer/store_results.h"
#include "recipes/answer/study_answer.h"
#include "recipes/trials/verdict.h"

namespace kb {

// The answer for one target.
struct TargetAnswer {
  TargetFigure target;
  std::vector<Measurement> runs = {};
  size_t runs_reached = 0;                 // number of the runs that reach it
  std::optional<StudyAnswer> answer = {};  // nothing if no minibatch reaches it
  // Gradient noise scale at the target, of the run with the fewest steps of each minibatch, if they have it.
  std::optional<GradientNoise> noise = {};

  size_t minibatches() const;  // number of minibatches that were tried
  size_t minibatches_reached() const { return answer ? answer->best.size() : 0; }
  // Returns the fit; null without one.
  const ScalingFit* fit() const { return answer && answer->fit ? &answer->fit->answer : nullptr; }
};

struct TargetsAnswer {
  std::string name;                   // name of the sweep's folder
  TargetFigure own;                   // target of the sweep, at which its runs end
  bool higher_is_better = false;      // whether greater values of the figure are better
  std::optional<int64_t> context;     // tokens of a sample, if its samples hold tokens
  StudyHead head = {};                // facts of the sweep
  std::vector<TargetAnswer> targets;  // targets from the easiest to the hardest
  // told() returns the targets whose B_crit has an interval with an end, enclosed() those of them with both ends.
  std::vector<const TargetAnswer*> told() const;
  std::vector<const TargetAnswer*> enclosed() const;
  // Returns whether B_crit grows as the figure gets better. held: it is greater at every target than at the one before,
  // and the intervals of the first and of the last target are apart. not_held: they are apart, and the last one's is
  // lower. Otherwise it is undecided.
  Verdict growth() const;
  // Returns B_crit against the loss, fitted to enclosed(): B_crit = B* / L^(1 / alpha) (Kaplan et al. 2020,
  // arXiv 2001.08361). B* is the law's factor, in samples, and -1 / alpha its exponent. Returns nothing for fewer than
  // two such targets and for another figure than the loss.
  std::optional<PowerLaw> law() const;
  bool has_noise() const;  // whether a target has a gradient noise scale
};

// Answers every target of `asked` (name, own target, direction, tokens, head) from its results.
TargetsAnswer answer_targets(TargetsAnswer asked, std::vector<StoreResults> results);

// Answers the values of the figure of a sweep's own target. Throws UsageError, which names --targets, for values that
// no share of the samples can have.
TargetsAnswer answer_targets(const StoreRuns& runs, const std::string& name, std::span<const double> values);

}  // namespace kb
