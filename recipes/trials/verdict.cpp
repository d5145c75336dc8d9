#include "recipes/trials/verdict.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "optim/two_samples.h"

namespace kb {
namespace {

constexpr double kTail = 0.025;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Judges all values. `bound`: the reference's values with the margin added.
Evidence look(const std::vector<double>& values, const std::vector<double>& bound, bool is_at_most) {
  Evidence found{.verdict = Verdict::undecided, .seeds = values.size(), .reference_seeds = bound.size()};
  const auto all_ended = [](const std::vector<double>& sample) {
    return std::all_of(sample.begin(), sample.end(), [](double value) { return std::isfinite(value); });
  };
  bool is_below = false, is_above = false;  // whether the values are below or above the bound
  if (!all_ended(values) || !all_ended(bound)) {
    const RankSumTails tails = rank_sum_tails(values, bound);
    found.is_ranked = true;
    found.p = std::min(tails.below, tails.above);
    is_below = tails.below <= kTail;
    is_above = tails.above <= kTail;
  } else if (const auto difference = mean_difference(values, bound, kTail)) {
    found.difference = difference->difference;
    found.low = difference->low;
    found.high = difference->high;
    is_below = found.high < 0;
    is_above = found.low > 0;
  } else {
    found.difference = mean_of(values) - mean_of(bound);
  }
  if (is_below || is_above) found.verdict = is_below == is_at_most ? Verdict::held : Verdict::not_held;
  const double mean = mean_of(values), other = mean_of(bound);
  if (std::min(values.size(), bound.size()) == 1 && mean != other)
    found.verdict = (mean < other) == is_at_most ? Verdict::seen : Verdict::not_seen;
  return found;
}

}  // namespace

const char* text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::held:
      return "held";
    case Verdict::not_held:
      return "not held";
    case Verdict::undecided:
      return "undecided";
    case Verdict::seen:
      return "seen";
    case Verdict::not_seen:
      return "not seen";
    case Verdict::not_tested:
      break;
  }
  return "not tested";
}

Evidence judge_difference(const std::vector<double>& values, const std::vector<double>& reference, double margin,
                          bool is_at_most, size_t first_look) {
  const size_t seeds = std::min(values.size(), reference.size());
  Evidence found;
  for (size_t count = std::max<size_t>(1, first_look); count <= seeds; ++count) {
    const auto end = static_cast<std::ptrdiff_t>(count);
    std::vector<double> bound(reference.begin(), reference.begin() + end);
    for (double& value : bound) value += margin;
    found = look({values.begin(), values.begin() + end}, bound, is_at_most);
    if (found.difference) *found.difference += margin;
    if (found.low < found.high) found.low += margin, found.high += margin;
    if (found.verdict != Verdict::undecided) break;
  }
  return found;
}

Evidence judge_all(const std::vector<double>& values, const std::vector<double>& reference, bool is_at_most) {
  return values.empty() || reference.empty() ? Evidence{} : look(values, reference, is_at_most);
}

Verdict verdict_of_all(const std::vector<Verdict>& parts) {
  for (const Verdict weakest :
       {Verdict::not_tested, Verdict::not_held, Verdict::undecided, Verdict::not_seen, Verdict::seen})
    if (std::find(parts.begin(), parts.end(), weakest) != parts.end()) return weakest;
  return parts.empty() ? Verdict::not_tested : Verdict::held;
}

}  // namespace kb
