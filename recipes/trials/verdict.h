// Verdicts on claims about two configurations, by what several seeds of each gave.
//
// A claim bounds the difference of two configurations' values, such as errors or logarithms of steps, by a margin. It
// is judged by where the interval of the difference (Welch's) lies relative to the margin: with the first seeds, and
// while it is undecided once more with each further seed. If seeds diverged, the values are ranked, a divergence last
// (exact test of Mann and Whitney). One seed decides nothing. Together, all looks leave out 2.5 % on each side: one
// look has them alone, and several share them (repeated confidence intervals; Jennison and Turnbull 1989, J. R. Stat.
// Soc. B 51, 305), most of them the last one. So an interval is of 95 % whichever look ends the study.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kb {

// A verdict on a claim. not_tested: trainings that it needs are missing. seen, not_seen: what one seed shows.
enum class Verdict : uint8_t { held, not_held, undecided, seen, not_seen, not_tested };

std::string text_of(Verdict verdict);  // "held", "not held", ..

// Values of two configurations, compared with a margin, and the verdict that follows.
struct Evidence {
  Verdict verdict = Verdict::not_tested;
  // Numbers of seeds of the first and the second configuration that the verdict uses; of a growth those where they are
  // fewer.
  size_t seeds = 0, reference_seeds = 0;
  bool is_ranked = false;                 // true if seeds diverged, so that values are ranked
  double p = 1;                           // probability of the smaller tail if values are ranked
  std::optional<double> difference = {};  // difference of the means in the values' unit; empty if seeds diverged
  // Ends of the difference's interval, of 95 % with all looks together; both 0 if no variance is known.
  double low = 0, high = 0;
};

// Numbers of seeds at the first look and at the last one. There are at most three looks.
struct Looks {
  size_t first = 1, last = 1;
};

// Judges whether the value of the first configuration is at most (`is_at_most`; else at least) `margin` above that of
// the second. A list has one value per seed, infinity for a run that diverged or missed its target. Both have as many
// seeds as the first look takes, and more only if it was undecided.
Evidence judge_difference(const std::vector<double>& values, const std::vector<double>& reference, double margin,
                          bool is_at_most, Looks looks);

// Judges the same, without a margin, in one look at all values, whose numbers may differ.
Evidence judge_all(const std::vector<double>& values, const std::vector<double>& reference, bool is_at_most);

// Values of one configuration before and after a change, such as logarithms of steps at two minibatches.
struct GrowthSample {
  std::vector<double> from, to;
};
// Judges whether the first of two growths, mean of `to` less mean of `from`, is at most the second, out of all values.
// Values of `from` are finite. If seeds diverged in `to`, differences of as many pairs as there are are ranked, in the
// order of the lists.
Evidence judge_growth(const GrowthSample& growth, const GrowthSample& reference);

// Returns the verdict on a claim that holds where all of its parts hold.
Verdict verdict_of_all(const std::vector<Verdict>& parts);

}  // namespace kb
