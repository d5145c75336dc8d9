// AdaScale SGD (Johnson et al. 2020, arXiv 2007.05105): the learning rate of a minibatch of S x B0 samples, step by
// step, from that of a base minibatch of B0. A step's gain says how many steps of B0 it is worth,
//
//   gain = (sigma^2 + mu^2) / (sigma^2 / S + mu^2)    in [1, S]
//
// with mu^2 = |G|^2 and sigma^2 = tr(Sigma) / B0, the variance of the gradient of B0 samples (optim/noise_scale.h). It
// is the ratio of the best rates at S x B0 and at B0 of McCandlish et al. 2018 (arXiv 1812.06162), (1 + B_simple / B0)
// / (1 + B_simple / (S B0)): the linear scaling rule where B_simple is far above S x B0, the rate of B0 where it is far
// below B0.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "optim/noise_scale.h"

namespace kb {

/// Gain of a step. `variance`: sigma^2 >= 0; `gradient2`: mu^2 >= 0, not both 0; `scale`: S >= 1.
double adascale_gain(double variance, double gradient2, double scale);

/// Minibatch of a run, and the base minibatch to which it is held.
struct AdaScaleSizes {
  int64_t base_minibatch = 0;           ///< B0, samples; at most the minibatch
  int64_t workers = 0, per_worker = 0;  ///< of the minibatch; at least two workers
  double scale() const;                 ///< S
};

/// Place of a step in a training that counts in steps of B0.
struct ScaledStep {
  double gain = 1;
  double iterations = 0;  ///< scale-invariant iterations done before it: the sum of the gains
};

/// Gains of a run's steps, by moving averages of mu^2 and sigma^2 with the paper's decay of max(1 - S / 1000, 0). The
/// paper has the norms of a step count for its own gain; here those up to the step before the last one do, so that no
/// device waits for the host to read them. The first two steps have the gain 1.
class AdaScale {
 public:
  /// Begins at step 0. Throws std::invalid_argument on sizes out of range.
  explicit AdaScale(const AdaScaleSizes& sizes);
  /// Goes on at `step` with what state() gave there. Throws Error for a text that is none.
  AdaScale(const AdaScaleSizes& sizes, int64_t step, std::string_view state);

  /// Takes the norms of the next step. Norms that are not finite (a loss scale that was too large) change no average.
  void add(const GradientNorms& norms);

  /// Knows the step whose norms are next, the two before it and the one after it; no step before the begin but one.
  const ScaledStep& at(int64_t step) const;

  static constexpr size_t kStateDigits = 9 * 16;
  /// All that the gains to come depend on, as kStateDigits hexadecimal digits.
  std::string state() const;

 private:
  double gain() const;
  ScaledStep& known(int64_t step) { return known_[static_cast<size_t>(step + 2) % known_.size()]; }

  AdaScaleSizes sizes_;
  double decay_;
  double weight_ = 0, variance_ = 0, gradient2_ = 0;  // sums of weights and of weighted values
  int64_t next_ = 0;                                  // step whose norms are next
  std::array<ScaledStep, 4> known_;                   // by the number of the step
};

}  // namespace kb
