#include "recipes/answer/answer_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "optim/equal_variances.h"
#include "recipes/report/count_text.h"

namespace kb {
namespace {

std::string contradiction_note(const StudyAnswer& answer) {
  if (answer.contradicted.empty()) return "";
  std::vector<std::string> places;
  for (const auto& [least, fitted] : answer.contradicted)
    places.push_back(fmt::format("{} steps at minibatch {}, where runs were given up after {}", count_text(fitted),
                                 least.minibatch, count_text(least.steps)));
  return fmt::format(
      "runs that were given up contradict the fitted law. It has {}. Either no rate tried there was good, or the "
      "law does not hold there.{}",
      fmt::join(places, "; "),
      answer.is_contradicted_beyond()
          ? fmt::format(" What it says of minibatches above {} is withheld.", answer.best.back().minibatch)
          : "");
}

// Returns whether the steps look rounded to evaluations whose distance is not known: all seeds tie, though two that
// scatter by sigma (of 1 % at least) have equal whole steps by chance in fewer than 5 % of all cases.
bool looks_rounded(const StepsToTarget& runs, double deviation) {
  constexpr double kLeastDeviation = 0.01, kSeldom = 0.05;
  if (!all_tie(runs) || runs.resolution > 0) return false;
  const double chance =
      1 / (2 * std::sqrt(std::numbers::pi) * std::max(deviation, kLeastDeviation) * runs.steps.front());
  return chance < kSeldom;
}

std::string tie_note(const StudyAnswer& answer) {
  const double deviation = answer.measured.scatter ? answer.measured.scatter->deviation() : 0;
  std::vector<int64_t> tied;
  for (const StepsToTarget& runs : answer.runs_at_best())
    if (looks_rounded(runs, deviation)) tied.push_back(runs.minibatch);
  if (tied.empty()) return "";
  return fmt::format(
      "all seeds have equal steps at minibatch {}: steps look rounded to evaluations. Intervals leave out how far "
      "these are apart, and may be too narrow; a column eval_every of the table tells it.",
      fmt::join(tied, ", "));
}

// Returns a note of runs at best rates that missed the target after steps that nobody noted.
std::string unknown_note(const StudyAnswer& answer) {
  std::vector<std::string> places;
  for (const BestResult& one : answer.best)
    if (const size_t unknown = one.best.runs - one.best.diverged - one.best.steps.size() - one.best.given_up.size())
      places.push_back(fmt::format("{} of {} runs at minibatch {}", unknown, one.best.runs, one.minibatch));
  if (places.empty()) return "";
  return fmt::format(
      "S leaves out {}: they missed the target, and their steps are not known. S is too low there; with the steps "
      "until they were given up they would count.",
      fmt::join(places, ", "));
}

std::string scatter_note(const StudyAnswer& answer) {
  if (!answer.measured.scatter) return "";
  const std::optional<EqualVariancesTest> test = test_equal_variances(answer.runs_at_best(), *answer.measured.scatter);
  if (!test || !test->rejects()) return "";
  return fmt::format(
      "seeds do not scatter by a power of the minibatch (Bartlett's test, p = {:.2g}): by {:.2g} % at minibatch {}, "
      "where the power has {:.2g} %, by {:.2g} % at {}, where it has {:.2g} %. Where seeds scatter three times as "
      "much as the power says, intervals of 95 % hold S in 80 to 93 % of simulated studies.",
      test->p, 100 * test->least.deviation, test->least.minibatch, 100 * test->least.of_law,
      100 * test->greatest.deviation, test->greatest.minibatch, 100 * test->greatest.of_law);
}

}  // namespace

std::vector<std::string> answer_notes(const StudyAnswer& answer) {
  std::vector<std::string> notes = {contradiction_note(answer), unknown_note(answer), tie_note(answer),
                                    scatter_note(answer)};
  std::erase(notes, "");
  return notes;
}

}  // namespace kb
