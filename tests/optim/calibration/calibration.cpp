// The program prints three tables on synthetic studies of known laws. The first says in how many percent of the studies
// each interval holds the truth, and in how many the test rejects the law with k = 1, for k = 1 and 2, for 2, 3 and 5
// seeds that scatter by 5 and 17 %, with none and a fifth of the runs given up. The second is the power of the test
// against k = 1.5. The third says how often the intervals of ratios of two studies hold the truth. The argument is the
// number of studies of each kind, by default 1000.
#include <fmt/format.h>

#include "optim/law_comparison.h"
#include "tests/optim/synthetic_study.h"

namespace {

using namespace kb;

// Prints how often ratios hold the truth for two studies whose laws differ by a factor of 2 in S_min, and in nothing
// else.
void print_ratios(double k, int minibatches, int64_t pairs) {
  const ScalingLaw law{150, 200, k}, other{300, 200, k};
  const auto fitted = [&](const ScalingLaw& of, int64_t seed) {
    const auto runs =
        test::synthetic_study({.law = of, .minibatches = test::doublings(minibatches)}, static_cast<uint64_t>(seed));
    return fit_critical_batch(pooled_steps(runs).means).answer;
  };
  int64_t s_min = 0, b_crit = 0, gain = 0;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const ScalingFit a = fitted(other, 2 * pair + 1), b = fitted(law, 2 * pair + 2);
    s_min += test::holds(ratio_of(a, b, &ScalingFit::s_min).interval, 2);
    b_crit += test::holds(ratio_of(a, b, &ScalingFit::b_crit).interval, 1);
    gain += test::holds(ratio_of(a, b, &ScalingFit::gain_end).interval, 1);
  }
  const auto share = [&](int64_t held) { return 100 * static_cast<double>(held) / static_cast<double>(pairs); };
  fmt::print("{:>3} {:>3} minibatches: {:.1f} {:.1f} {:.1f} %\n", k, minibatches, share(s_min), share(b_crit),
             share(gain));
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t studies = argc > 1 ? std::atoll(argv[1]) : 1000;
  constexpr int kMinibatches = 11;
  fmt::print("{:>3} {:>6} {:>9} {:>8} | {:>6} {:>6} {:>6} {:>6} {:>8} {:>6} | {:>8}\n", "k", "seeds", "given up",
             "scatter", "S", "S_min", "B_crit", "E_min", "perfect", "gain", "rejected");
  double sum = 0, cells = 0;
  for (const double k : {1.0, 2.0})
    for (const int seeds : {2, 3, 5})
      for (const double given_up : {0.0, 0.2})
        for (const double scatter : {0.05, 0.17}) {
          const test::Calibration c =
              test::calibrate({{300, 256, k}, test::doublings(kMinibatches), seeds, scatter, given_up}, studies);
          fmt::print(
              "{:>3} {:>6} {:>8.0f}% {:>7.0f}% | {:>6.1f} {:>6.1f} {:>6.1f} {:>6.1f} {:>8.1f} {:>6.1f} | {:>8.1f}\n", k,
              seeds, 100 * given_up, 100 * scatter, c.share_of_means(), c.share(c.s_min), c.share(c.b_crit),
              c.share(c.e_min), c.share(c.perfect_end), c.share(c.gain_end), c.share(c.rejected));
          std::fflush(stdout);
          for (const int64_t held : {c.s_min, c.b_crit, c.e_min, c.perfect_end, c.gain_end})
            sum += c.share(held), ++cells;
        }
  fmt::print(
      "mean of the {} cells from S_min to gain: {:.1f} %\n\npower of the test against k = 1.5, 3 seeds that scatter by "
      "10 %\n",
      cells, sum / cells);
  for (const int minibatches : {11, 9, 7, 6}) {
    std::vector<int64_t> around;  // minibatches around B_crit
    for (int i = 0; i < minibatches; ++i) around.push_back(int64_t{8} << (i + (kMinibatches - minibatches) / 2));
    const test::Calibration c = test::calibrate({{300, 256, 1.5}, around, 3, 0.1}, studies);
    fmt::print("{:>3} minibatches {:>6} to {:>6}: {:.1f} %\n", minibatches, around.front(), around.back(),
               c.share(c.rejected));
  }
  fmt::print("\nratios of two studies, 3 seeds that scatter by 10 %: S_min, B_crit, end of gain\n");
  for (const double k : {1.0, 1.5, 2.0})
    for (const int minibatches : {8, 10}) print_ratios(k, minibatches, studies * 2 / 5);
  return 0;
}
