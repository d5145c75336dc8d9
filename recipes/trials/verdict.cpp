#include "recipes/trials/verdict.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "graph/error.h"
#include "optim/two_samples.h"
#include "recipes/config/values.h"

namespace kb {
namespace {

constexpr Choice<Verdict> kVerdicts[] = {{"held", Verdict::held},           {"not held", Verdict::not_held},
                                         {"undecided", Verdict::undecided}, {"seen", Verdict::seen},
                                         {"not seen", Verdict::not_seen},   {"not tested", Verdict::not_tested}};

// Probabilities that a look leaves out on each side.
struct LookTails {
  double means = 0.025, ranks = 0.025;
};
constexpr size_t kMostLooks = 3;

// Returns the tails of a look, `left` looks before the last of `looks`. Those of means are of simulated looks at 3, 4
// and 5 normal seeds (4 and 5 where there are two): together they leave out 5 % or less if one deviation is up to three
// times the other. Those of ranks sum to 2.5 %: 1 in 70 is the least that four seeds each can tell.
LookTails tails_of(size_t looks, size_t left) {
  constexpr LookTails kTails[kMostLooks][kMostLooks] = {
      {{0.025, 0.025}}, {{0.02, 0.0107}, {0.0075, 0.0143}}, {{0.0175, 0.0107}, {0.0075, 0.0143}, {0.0025, 0}}};
  ensure(looks >= 1 && looks <= kMostLooks && left < looks, "a claim has one to three looks");
  return kTails[looks - 1][left];
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double sum_of_means(const Samples& samples) {
  double sum = 0;
  for (const std::span<const double> sample : samples) sum += mean_of(sample);
  return sum;
}

bool all_ended(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

int side_of(double value, double bound) { return value < bound ? -1 : value > bound ? 1 : 0; }

// Adds the verdict. `told`: -1 where the values lie below the bound, 1 above it, 0 where seeds do not tell. `means`:
// the same of the means, which is what one seed shows.
Evidence with_verdict(Evidence found, int told, int means, bool is_at_most) {
  found.verdict = Verdict::undecided;
  if (told != 0) found.verdict = (told < 0) == is_at_most ? Verdict::held : Verdict::not_held;
  if (std::min(found.seeds, found.reference_seeds) == 1 && means != 0)
    found.verdict = (means < 0) == is_at_most ? Verdict::seen : Verdict::not_seen;
  return found;
}

Evidence by_ranks(const std::vector<double>& values, const std::vector<double>& bound, bool is_at_most, double tail) {
  const RankSumTails tails = rank_sum_tails(values, bound);
  const Evidence found{.seeds = values.size(),
                       .reference_seeds = bound.size(),
                       .is_ranked = true,
                       .p = std::min(tails.below, tails.above)};
  const int told = tails.below <= tail ? -1 : tails.above <= tail ? 1 : 0;
  return with_verdict(found, told, side_of(mean_of(values), mean_of(bound)), is_at_most);
}

// Judges whether the means that are added are at most (`is_at_most`; else at least) those that are subtracted.
Evidence by_means(Evidence found, const Samples& added, const Samples& subtracted, bool is_at_most, double tail) {
  found.difference = sum_of_means(added) - sum_of_means(subtracted);
  int told = 0;
  if (const auto difference = mean_difference(added, subtracted, tail)) {
    found.difference = difference->difference;
    found.low = difference->low;
    found.high = difference->high;
    told = found.high < 0 ? -1 : found.low > 0 ? 1 : 0;
  }
  const int means = side_of(*found.difference, 0);
  return with_verdict(found, told, means, is_at_most);
}

// Judges all values. `bound`: the reference's values with the margin added.
Evidence look(const std::vector<double>& values, const std::vector<double>& bound, bool is_at_most, LookTails tails) {
  if (!all_ended(values) || !all_ended(bound)) return by_ranks(values, bound, is_at_most, tails.ranks);
  return by_means({.seeds = values.size(), .reference_seeds = bound.size()}, {values}, {bound}, is_at_most,
                  tails.means);
}

// Returns differences of pairs.
std::vector<double> differences(const GrowthSample& growth) {
  std::vector<double> all(growth.to.begin(),
                          growth.to.begin() + std::min(std::ssize(growth.from), std::ssize(growth.to)));
  for (size_t i = 0; i < all.size(); ++i) all[i] -= growth.from[i];
  return all;
}

}  // namespace

std::string text_of(Verdict verdict) { return word_of(kVerdicts, verdict); }

Evidence judge_difference(const std::vector<double>& values, const std::vector<double>& reference, double margin,
                          bool is_at_most, Looks looks) {
  const size_t seeds = std::min({values.size(), reference.size(), looks.last});
  Evidence found;
  for (size_t count = looks.first; count <= seeds; ++count) {
    const auto end = static_cast<std::ptrdiff_t>(count);
    std::vector<double> bound(reference.begin(), reference.begin() + end);
    for (double& value : bound) value += margin;
    found = look({values.begin(), values.begin() + end}, bound, is_at_most,
                 tails_of(looks.last - looks.first + 1, looks.last - count));
    if (found.difference) *found.difference += margin;
    if (found.low < found.high) found.low += margin, found.high += margin;
    if (found.verdict != Verdict::undecided) break;
  }
  return found;
}

Evidence judge_all(const std::vector<double>& values, const std::vector<double>& reference, bool is_at_most) {
  return values.empty() || reference.empty() ? Evidence{} : look(values, reference, is_at_most, {});
}

Evidence judge_growth(const GrowthSample& growth, const GrowthSample& reference) {
  const size_t seeds = std::min(growth.from.size(), growth.to.size());
  const size_t reference_seeds = std::min(reference.from.size(), reference.to.size());
  if (seeds == 0 || reference_seeds == 0) return {};
  if (!all_ended(growth.to) || !all_ended(reference.to))
    return by_ranks(differences(growth), differences(reference), true, LookTails().ranks);
  return by_means({.seeds = seeds, .reference_seeds = reference_seeds}, {growth.to, reference.from},
                  {growth.from, reference.to}, true, LookTails().means);
}

Verdict verdict_of_all(const std::vector<Verdict>& parts) {
  for (const Verdict weakest :
       {Verdict::not_tested, Verdict::not_held, Verdict::undecided, Verdict::not_seen, Verdict::seen})
    if (std::find(parts.begin(), parts.end(), weakest) != parts.end()) return weakest;
  return parts.empty() ? Verdict::not_tested : Verdict::held;
}

}  // namespace kb
