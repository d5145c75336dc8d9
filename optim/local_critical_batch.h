// The local critical minibatch: the largest one that, from a place in a training on, loses nothing against smaller ones
// over the same samples. It is measured on branches of the training (Merrill et al. 2025, "Critical Batch Size
// Revisited", arXiv 2505.23971, section 3.1): each goes on from the same state, with k times the minibatch and a rate
// that a scaling rule moves, and their smoothed losses are compared after the same number of samples.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kb {

inline constexpr double kLocalTolerance = 0.01;  // the paper's tolerance of a loss
inline constexpr double kLocalSmoothing = 0.5;   // the paper's alpha of a moving average

/// An average, with the standard error that the scatter of its values gives it.
struct AveragedLoss {
  double value = 0;
  std::optional<double> error = {};  ///< nothing: too few values
  double degrees = 0;                ///< degrees of freedom of the error, for Student's t; 0 without an error
};

/// Returns the exponential moving average of the values at the last one: s = alpha v + (1 - alpha) s, from the first
/// value on. Its error takes the values as independent, with the scatter that successive ones of the last half have.
/// Throws std::invalid_argument if there are no values or alpha is not in (0, 1].
AveragedLoss moving_average(std::span<const double> values, double alpha);

/// Returns the mean of b[i] - a[i], where both are losses of the same samples. Throws std::invalid_argument if the
/// numbers of values differ or are 0.
AveragedLoss paired_difference(std::span<const double> a, std::span<const double> b);

/// A branch, and its smoothed loss after the window.
struct BranchLoss {
  int64_t factor = 1;  ///< k: its minibatch over that of the training
  double loss = 0;     ///< infinite if it diverged
};

struct LocalCritical {
  int64_t factor = 1;                 ///< k*: the largest k that loses nothing
  std::optional<int64_t> above = {};  ///< the smallest k that was tried above it; nothing if k* was the largest
  bool is_monotone = true;            ///< false if a k below k* does lose
};

/// Returns whether branch number i loses nothing: its loss exceeds that of no smaller k by more than the tolerance.
bool loses_nothing(std::span<const BranchLoss> branches, size_t i, double tolerance);
/// Returns k* of branches in ascending order of k, the first of which has k = 1. Throws std::invalid_argument for other
/// branches, and if the loss at k = 1 is not finite.
LocalCritical local_critical(std::span<const BranchLoss> branches, double tolerance);

/// The largest minibatch that lost nothing at a place of a training.
struct LocalMinibatch {
  int64_t samples = 0;  ///< samples that the training had seen there
  int64_t minibatch = 0;
};

/// A growth of the minibatch after so many samples.
struct WarmupGrowth {
  int64_t samples = 0, factor = 2;
  bool operator==(const WarmupGrowth&) const = default;
};

/// Returns the growths of a training that begins with the minibatch `base` and doubles it wherever the local critical
/// minibatch allows (section 4.1, batch size warmup). It never exceeds what lost nothing there or at a later place.
/// `places` are in the order of their samples.
std::vector<WarmupGrowth> minibatch_warmup(std::span<const LocalMinibatch> places, int64_t base);

}  // namespace kb
