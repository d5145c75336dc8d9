// AdaScale SGD (Johnson et al. 2020, arXiv 2007.05105): it derives the learning rate of a minibatch of S x B0 samples
// from that of a base minibatch of B0 samples, step by step. The gain of a step says how many steps of B0 it is worth,
//
//   gain = (sigma^2 + mu^2) / (sigma^2 / S + mu^2)    in [1, S]
//
// with mu^2 = |G|^2 and sigma^2 = tr(Sigma) / B0, the variance of the gradient of B0 samples (optim/noise_scale.h).
// With B_simple = tr(Sigma) / |G|^2 the gain is (1 + B_simple / B0) / (1 + B_simple / (S B0)), the ratio of the best
// rates at S x B0 and at B0 by McCandlish et al. 2018 (arXiv 1812.06162). If B_simple is far above S x B0, that is S,
// the linear scaling rule; if it is far below B0, that is 1, the rate of B0.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "optim/noise_scale.h"

namespace kb {

/// Returns the gain of a step. `variance` is sigma^2 >= 0 and `gradient2` is mu^2 >= 0, not both 0; `scale` is S >= 1.
double adascale_gain(double variance, double gradient2, double scale);

/// The minibatch of a run, and the base minibatch B0 to which it is compared.
struct AdaScaleSizes {
  int64_t base_minibatch = 0;           ///< B0, samples; at most the minibatch
  int64_t workers = 0, per_worker = 0;  ///< the minibatch has workers x per_worker samples; at least two workers
  double scale() const;                 /// S, the minibatch over B0
};

/// A step, for a run that counts in steps of B0.
struct ScaledStep {
  double gain = 1;
  double iterations = 0;  ///< scale-invariant iterations done before the step: the sum of the gains
};

/// The gains of a run's steps, from moving averages of mu^2 and sigma^2 with the paper's decay, max(1 - S / 1000, 0).
/// In the paper the gain of a step uses the norms of that step. Here it uses those up to the step before the last one,
/// so that no device waits until the host has read them. The first two steps have the gain 1.
class AdaScale {
 public:
  /// Begins at step 0. Throws std::invalid_argument when a size is out of range.
  explicit AdaScale(const AdaScaleSizes& sizes);
  /// Continues at `step` from `state`, which state() returned there. Throws Error when `state` is no such text.
  AdaScale(const AdaScaleSizes& sizes, int64_t step, std::string_view state);

  /// Takes the norms of the next step. Norms that are not finite (after a loss scale that was too large) are left out.
  void add(const GradientNorms& norms);

  /// Returns the place of a step: of the step whose norms are next, the two before it, or the one after it. After a
  /// restart the earliest is the step before.
  const ScaledStep& at(int64_t step) const;

  const AdaScaleSizes& sizes() const { return sizes_; }

  static constexpr size_t kStateDigits = 9 * 16;
  /// Returns all that later gains depend on, as kStateDigits hexadecimal digits.
  std::string state() const;

 private:
  double gain() const;
  ScaledStep& known(int64_t step) { return known_[static_cast<size_t>(step + 2) % known_.size()]; }

  AdaScaleSizes sizes_;
  double decay_;
  double weight_ = 0, variance_ = 0, gradient2_ = 0;  // sum of weights; weighted sums of sigma^2 and mu^2
  int64_t next_ = 0;                                  // the step whose norms are next
  std::array<ScaledStep, 4> known_;                   // indexed by (step + 2) modulo 4
};

}  // namespace kb
