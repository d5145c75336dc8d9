// MLPerf's test of convergence, which fails if runs reach the target in fewer epochs than the reference's statistics
// allow (mlcommons/training_policies, training_rules.adoc, "Reference convergence points").
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace kb {

// A reference convergence point of MLPerf training's ResNet-50: hyper-parameters of a minibatch, and the epochs that
// each run of the reference took to 75.9 % top-1. Source: mlcommons/logging,
// rcp_checker/training_4.0.0/rcps_resnet.json.
struct ReferencePoint {
  int64_t minibatch = 0;
  double rate = 0, warmup_epochs = 0, momentum = 0.9, weight_decay = 0;
  int64_t decay_steps = 0, norm_span = 0;  // steps after the warmup, plus 1; samples that share batch norm's statistics
  std::vector<double> epochs = {};         // epochs that each run took to the target
};

inline constexpr double kReferenceTarget = 75.9;  // top-1 accuracy in per cent

// Returns the points in ascending order of the minibatch.
std::span<const ReferencePoint> reference_points();

// The standard deviation of the reference's runs that the test uses. of_rules: the population's over all runs but the
// fastest and the slowest, as in the rules' worked examples. of_checker: the population's over all runs, as in the code
// of the checker. In both cases the means leave out the fastest and the slowest run.
enum class Deviation : uint8_t { of_rules, of_checker };

// Epochs that the reference's runs took at a minibatch.
struct ConvergencePoint {
  int64_t minibatch = 0;
  double mean = 0, deviation = 0;
  int64_t runs = 0;  // number of runs without the fastest and the slowest
};

// Returns the point of a minibatch from the epochs of each run. Throws Error for fewer than three runs.
ConvergencePoint convergence_point(int64_t minibatch, std::span<const double> epochs, Deviation deviation);

// Returns the points, sorted by minibatch, without those below the minibatch of the fastest point, and without those
// that are slower than the line between their neighbours; the latter is repeated until no point is removed.
std::vector<ConvergencePoint> pruned(std::vector<ConvergencePoint> points);

// Returns the point of a minibatch. If there is none, the mean and the deviation are interpolated linearly between its
// neighbours, and the number of runs is the lesser of theirs; below the first point it is the first point. Throws Error
// above the last point.
ConvergencePoint point_at(std::span<const ConvergencePoint> points, int64_t minibatch);

// Returns the least mean of `runs` runs (after trimming) that is not significantly below the reference's, by a
// one-sided t-test of two samples at alpha 0.05 with the reference's deviation as the pooled one.
double least_mean(const ConvergencePoint& reference, int64_t runs);

// Returns the p-value of that test, which is 0.05 at least_mean(). It is not how often runs that are as the reference's
// have such a mean, since means and deviations are of the runs that trimming left: 5.6, 9.5 and 11.2 % of 3, 5 and 10
// normal runs fail beside 10 of the reference by its of_rules deviation, and 1.5, 3.3 and 4.6 % by of_checker; beside
// 28 it is 2.4, 5.1 and 6.9 %, and 1.1, 2.9 and 4.0 % (20,000 simulated pairs each).
double chance_of_mean(const ConvergencePoint& reference, int64_t runs, double mean);

struct ConvergenceVerdict {
  ConvergencePoint reference;
  double mean = 0;   // mean epochs of the submitted runs without the fastest and the slowest
  double least = 0;  // least mean that is allowed
  double p = 0;      // p-value of the rules' test
  bool passes = false;
  double score_factor = 1;  // factor of the submitted time; above 1 if the runs pass and are faster than the reference
};
// Judges submitted runs by the epochs of each. Throws Error for fewer than three runs, and as point_at() does.
ConvergenceVerdict check_convergence(std::span<const ConvergencePoint> points, int64_t minibatch,
                                     std::span<const double> epochs);

// Returns the pruned points of reference_points().
std::vector<ConvergencePoint> resnet_points(Deviation deviation);

}  // namespace kb
