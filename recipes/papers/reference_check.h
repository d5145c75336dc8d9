// MLPerf's test of convergence: whether runs reach the target in fewer epochs than the reference's statistics allow
// (mlcommons/training_policies, training_rules.adoc, "Reference convergence points").
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recipes/papers/reference_points.h"

namespace kb {

// Which standard deviation of the reference's runs counts. The rules' worked examples take the population's of the runs
// without the fastest and the slowest; the code of the checker that of all runs. The means are trimmed in both.
enum class Deviation : uint8_t { of_rules, of_checker };

// Epochs of the reference at a minibatch.
struct ConvergencePoint {
  int64_t minibatch = 0;
  double mean = 0, deviation = 0;
  int64_t runs = 0;  // that count: without the fastest and the slowest
};

// Trims the runs: at least three. Throws Error for fewer.
ConvergencePoint convergence_point(int64_t minibatch, std::span<const double> epochs, Deviation deviation);

// Returns the points that stay: neither those below the minibatch of the fastest, nor those slower than the line
// between their neighbours, until none is.
std::vector<ConvergencePoint> pruned(std::vector<ConvergencePoint> points);

// Returns the point of a minibatch: its own, else mean and deviation linear in the minibatch between its neighbours,
// and the lesser number of runs of both. Below the least point that one stands. Throws Error above the largest.
ConvergencePoint point_at(std::span<const ConvergencePoint> points, int64_t minibatch);

// Least mean of `runs` runs (those that count) that is not significantly below the reference's: a one-sided test of two
// samples at alpha 0.05 with the reference's deviation as the pooled one.
double least_mean(const ConvergencePoint& reference, int64_t runs);

struct ConvergenceVerdict {
  ConvergencePoint reference;
  double mean = 0;   // of the submitted runs, trimmed
  double least = 0;  // that is allowed
  bool passes = false;
  double score_factor = 1;  // of the time, where the runs are faster than the reference's mean, and allowed
};
// `epochs`: of each submitted run; at least three.
ConvergenceVerdict check_convergence(std::span<const ConvergencePoint> points, int64_t minibatch,
                                     std::span<const double> epochs);

// The points of reference_points(), pruned.
std::vector<ConvergencePoint> resnet_points(Deviation deviation);

}  // namespace kb
