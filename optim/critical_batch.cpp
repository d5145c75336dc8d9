#include "optim/critical_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "graph/error.h"
#include "optim/distributions.h"

namespace kb {
namespace {

constexpr double kTail = 0.025;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void check_measured(std::span<const MeanSteps> measured) {
  if (measured.size() < kLeastMinibatches)
    throw Error(fmt::format("critical minibatch: expected steps to the target at {} minibatches or more, got {}",
                            kLeastMinibatches, measured.size()));
  int64_t before = 0;
  for (const MeanSteps& at : measured) {
    if (at.minibatch <= before)
      throw Error(fmt::format("critical minibatch: expected minibatches that ascend from 1 on, got {} behind {}",
                              at.minibatch, before));
    before = at.minibatch;
    if (!(at.steps > 0) || !std::isfinite(at.steps))
      throw Error(
          fmt::format("critical minibatch: expected steps above 0 at minibatch {}, got {}", at.minibatch, at.steps));
  }
}

bool has_variances(std::span<const MeanSteps> measured) {
  return std::all_of(measured.begin(), measured.end(), [](const MeanSteps& at) { return at.variance > 0; });
}

struct Least {
  double at = 0, value = kInfinity;
};

// Returns the minimum of `f` over [low, high] to `bits` bits: the best of `places` points, then Brent's search around
// it.
template <class F>
Least minimise(double low, double high, int places, int bits, F f) {
  constexpr std::uintmax_t kMostSteps = 100;
  const double spacing = (high - low) / (places - 1);
  Least best;
  for (int i = 0; i < places; ++i) {
    const double at = low + spacing * i, value = f(at);
    if (value < best.value) best = {at, value};
  }
  std::uintmax_t steps = kMostSteps;
  const auto [at, value] = boost::math::tools::brent_find_minima(f, std::max(low, best.at - spacing),
                                                                 std::min(high, best.at + spacing), bits, steps);
  return value < best.value ? Least{at, value} : best;
}

// The measured steps, and the law fitted to them.
class Measured {
 public:
  // `weights` has the weight of each minibatch in the sum of squares.
  Measured(std::span<const MeanSteps> measured, const std::vector<double>& weights, bool k_is_free)
      : k_is_free_(k_is_free) {
    for (size_t i = 0; i < measured.size(); ++i)
      points_.push_back(
          {std::log(static_cast<double>(measured[i].minibatch)), std::log(measured[i].steps), weights[i]});
    for (const double weight : weights) exact_ += kRounding * weight;
    double degrees = 1;
    for (const MeanSteps& at : measured) degrees = std::max(degrees, at.degrees);
    if (has_variances(measured)) seeds_t_ = student_t(kTail, degrees);
    fit_ = best_law();
    cost_ = cost(fit_);
  }

  const LogLaw& law() const { return fit_; }
  double sum_of_squares() const { return cost_; }
  // Returns whether B_crit lies at an end of the range in which it is sought: a better fit may lie beyond.
  bool is_at_bound() const {
    constexpr double kNear = 1e-3;
    const double critical = log_b_crit().of(fit_);
    return critical < least_critical() + kNear || critical > greatest_critical() - kNear;
  }
  // Returns whether the law leaves no more than rounding.
  bool is_exact() const { return cost_ <= exact_; }
  int64_t degrees() const { return static_cast<int64_t>(points_.size()) - (k_is_free_ ? 3 : 2); }

  Estimate estimate(const Quantity& quantity) const {
    return {std::exp(quantity.of(fit_)), {std::exp(end(quantity, -1)), std::exp(end(quantity, 1))}};
  }
  // Returns k with its interval.
  Estimate bend() const {
    const auto excess = [&](double log_k) { return least_at(std::exp(log_k)).value; };
    const double here = std::log(fit_.k);
    return {fit_.k,
            {std::exp(crossing(excess, here, -1, widest_bend() + here)),
             std::exp(crossing(excess, here, 1, widest_bend() - here))}};
  }

  std::vector<double> residuals() const {
    std::vector<double> all;
    for (const Point& at : points_) all.push_back(std::expm1(at.steps - fit_.steps(at.minibatch)));
    return all;
  }

 private:
  struct Point {
    double minibatch, steps, weight;  // minibatch and steps are logarithms
  };
  // With more degrees of freedom, residuals of a tenth of the seeds' variance or less are seen in 0.8 % of studies.
  static constexpr int64_t kFewDegrees = 4;
  static constexpr double kRounding = 1e-26;  // a squared residual that rounding alone leaves
  static constexpr int kPlacesOfBend = 7, kPlacesOfCritical = 17, kBits = 14, kBitsOfFit = 26;

  static double widest_bend() { return std::log(kWidestBend); }
  double least_critical() const { return points_.front().minibatch - std::log(kWidestCritical); }
  double greatest_critical() const { return points_.back().minibatch + std::log(kWidestCritical); }

  double cost(const LogLaw& law) const {
    double sum = 0;
    for (const Point& at : points_) {
      const double residual = at.steps - law.steps(at.minibatch);
      sum += at.weight * residual * residual;
    }
    return sum;
  }

  // Returns the best law of a curve and its sum of squares, by Gauss and Newton from `free` on; a step that does not
  // gain is halved.
  std::pair<LogLaw, double> best_on(const LawCurve& curve, double free) const {
    constexpr int kMostSteps = 30, kMostHalvings = 8;
    constexpr double kLongest = 2, kSame = 1e-9,
                     kGain = 1e-10;  // kLongest, kSame: longest and least step; kGain: least relative gain
    LogLaw law = curve.at(free);
    double least = cost(law);
    for (int i = 0; i < kMostSteps && least > exact_; ++i) {
      double step = std::clamp(newton_step(curve, law), -kLongest, kLongest);
      LogLaw next = curve.at(free + step);
      double next_cost = cost(next);
      for (int halving = 0; halving < kMostHalvings && !(next_cost <= least); ++halving) {
        step /= 2;
        next = curve.at(free + step);
        next_cost = cost(next);
      }
      if (!(next_cost <= least)) break;
      free += step;
      law = next;
      const bool is_there = std::abs(step) < kSame || least - next_cost <= kGain * least;
      least = next_cost;
      if (is_there) break;
    }
    return {law, least};
  }

  double newton_step(const LawCurve& curve, const LogLaw& law) const {
    const auto [slope_s, slope_e] = curve.slope(law);
    double along = 0, curvature = 0;
    for (const Point& at : points_) {
      const double share = law.share_of_e(at.minibatch), slope = (1 - share) * slope_s + share * slope_e;
      along += at.weight * (at.steps - law.steps(at.minibatch)) * slope;
      curvature += at.weight * slope * slope;
    }
    return curvature > 0 ? along / curvature : 0;
  }

  // Returns the least sum of squares at a given k; `at` of it is log B_crit.
  Least least_at(double k) const {
    const Quantity critical = log_b_crit();
    return minimise(least_critical(), greatest_critical(), kPlacesOfCritical, kBitsOfFit,
                    [&](double value) { return best_on(critical.curve(value, k), points_.front().steps).second; });
  }

  LogLaw best_law() const {
    double k = 1;
    if (k_is_free_)
      k = std::exp(minimise(-widest_bend(), widest_bend(), kPlacesOfBend, kBitsOfFit, [&](double log_k) {
                     return least_at(std::exp(log_k)).value;
                   }).at);
    return best_on(log_b_crit().curve(least_at(k).at, k), points_.front().steps).first;
  }

  // Returns the least sum of squares of the laws in which the quantity has this value.
  double profile(const Quantity& quantity, double value) const {
    const auto with = [&](double k) { return best_on(quantity.curve(value, k), quantity.free(fit_)).second; };
    if (!k_is_free_) return with(1);
    return minimise(-widest_bend(), widest_bend(), kPlacesOfBend, kBits,
                    [&](double log_k) { return with(std::exp(log_k)); })
        .value;
  }

  // Returns the sum of squares at which an interval ends. Few residuals may by chance be far less than the seeds
  // scatter, and tell no narrower interval than the seeds do.
  double limit() const {
    const auto left = static_cast<double>(degrees());
    const double t = student_t(kTail, left), from_residuals = t * t * cost_ / left;
    return cost_ + (degrees() <= kFewDegrees ? std::max(from_residuals, seeds_t_ * seeds_t_) : from_residuals);
  }

  // Returns the end of a quantity's interval on one side (-1 or 1); an open end is infinite.
  double end(const Quantity& quantity, double side) const {
    const double widest = greatest_critical() - least_critical();
    return crossing([&](double value) { return profile(quantity, value); }, quantity.of(fit_), side, widest);
  }

  // Returns the value where `profile` rises above limit(), going from `from` to one side by `reach` at most.
  double crossing(const std::function<double(double)>& profile, double from, double side, double reach) const {
    constexpr double kFirst = 0.05, kLonger = 2, kNear = 1e-6;
    constexpr std::uintmax_t kMostSteps = 60;
    const double most = limit();
    double inside = 0, outside = std::min(kFirst, reach);
    while (profile(from + side * outside) <= most) {
      if (outside >= reach) return side * kInfinity;
      inside = outside;
      outside = std::min(outside * kLonger, reach);
    }
    const auto beyond = [&](double distance) { return profile(from + side * distance) - most; };
    if (beyond(inside) >= 0) return from;  // the law fits exactly
    const auto is_near = [](double low, double high) { return high - low < kNear; };
    std::uintmax_t steps = kMostSteps;
    return from + side * boost::math::tools::toms748_solve(beyond, inside, outside, is_near, steps).second;
  }

  bool k_is_free_;
  std::vector<Point> points_;
  LogLaw fit_;
  double cost_ = 0, exact_ = 0;  // sum of squares of the fit; the sum that rounding alone leaves
  double seeds_t_ = 0;           // Student's t of the variances of the means; 0 if these are not known
};

ScalingFit fit_of(const Measured& measured, bool k_is_free) {
  ScalingFit fit;
  fit.s_min = measured.estimate(log_s_min());
  fit.b_crit = measured.estimate(log_b_crit());
  fit.e_min = measured.estimate(log_e_min());
  fit.perfect_end = measured.estimate(log_perfect_end());
  fit.gain_end = measured.estimate(log_gain_end());
  if (k_is_free) fit.k = measured.bend();
  fit.residuals = measured.residuals();
  if (fit.assumes_k()) fit.perfect_end.interval = fit.gain_end.interval = {0, kInfinity};
  double squares = 0;
  for (const double residual : fit.residuals) squares += residual * residual;
  fit.rms = std::sqrt(squares / static_cast<double>(fit.residuals.size()));
  return fit;
}

// Returns the variance t between minibatches with which the sum of r^2 / (v + t) over them is `degrees`; 0 when the
// variances v of the means alone explain the residuals r.
double scatter_beyond(std::span<const MeanSteps> measured, const std::vector<double>& residuals, int64_t degrees) {
  constexpr int kHalvings = 60;
  const auto is_too_small = [&](double scatter) {
    double sum = 0;
    for (size_t i = 0; i < measured.size(); ++i)
      sum += std::pow(std::log1p(residuals[i]), 2) / (measured[i].variance + scatter);
    return sum > static_cast<double>(degrees);
  };
  if (!is_too_small(0)) return 0;
  double low = 0, high = 1e-6;
  while (is_too_small(high)) high *= 2;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (is_too_small(middle) ? low : high) = middle;
  }
  return high;
}

// Returns a weight for each minibatch: 1 / (v + t), t from a first fit with t = 0.
std::vector<double> weights_of(std::span<const MeanSteps> measured, bool k_is_free) {
  std::vector<double> weights(measured.size(), 1);
  if (!has_variances(measured)) return weights;
  const auto weigh = [&](double scatter) {
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = 1 / (measured[i].variance + scatter);
  };
  weigh(0);
  const Measured first(measured, weights, k_is_free);
  weigh(scatter_beyond(measured, first.residuals(), first.degrees()));
  return weights;
}

std::optional<LawTest> test_of(const Measured& of_one, const Measured& free) {
  if (of_one.is_at_bound()) return std::nullopt;
  LawTest test;
  test.degrees = free.degrees();
  const double scatter = free.sum_of_squares() / static_cast<double>(test.degrees);
  const double gained = std::max(0.0, of_one.sum_of_squares() - free.sum_of_squares());
  if (gained == 0 || of_one.is_exact()) return test;  // k = 1 is the best k, or the law fits exactly with it
  test.f = gained / scatter;
  // A variable F(1, n) is the square of a t(n).
  test.p = student_outside(std::sqrt(test.f), static_cast<double>(test.degrees));
  return test;
}

bool bend_is_free(std::span<const MeanSteps> measured) { return measured.size() >= kLeastOfFreeBend; }

}  // namespace

double ScalingLaw::steps_at(double minibatch) const {
  return s_min * std::pow(1 + std::pow(b_crit / minibatch, k), 1 / k);
}

CriticalBatch fit_critical_batch(std::span<const MeanSteps> measured) {
  check_measured(measured);
  const std::vector<double> weights = weights_of(measured, bend_is_free(measured));
  const Measured of_one(measured, weights, false);
  if (!bend_is_free(measured)) return {fit_of(of_one, false), std::nullopt, std::nullopt};
  const Measured free(measured, weights, true);
  return {fit_of(free, true), fit_of(of_one, false), test_of(of_one, free)};
}

std::vector<ConfidenceInterval> steps_band(std::span<const MeanSteps> measured, std::span<const double> minibatches) {
  check_measured(measured);
  const bool is_free = bend_is_free(measured);
  const Measured fitted(measured, weights_of(measured, is_free), is_free);
  std::vector<ConfidenceInterval> band;
  for (const double minibatch : minibatches) band.push_back(fitted.estimate(log_steps(std::log(minibatch))).interval);
  return band;
}

LinearBatchFit fit_linear_batch(std::span<const MeanSteps> measured) {
  check_measured(measured);
  double minibatch = 0, samples = 0;  // means over the minibatches
  const auto count = static_cast<double>(measured.size());
  for (const MeanSteps& at : measured) {
    minibatch += static_cast<double>(at.minibatch) / count;
    samples += static_cast<double>(at.minibatch) * at.steps / count;
  }
  double along = 0, squares = 0;
  for (const MeanSteps& at : measured) {
    const double offset = static_cast<double>(at.minibatch) - minibatch;
    along += offset * (static_cast<double>(at.minibatch) * at.steps - samples);
    squares += offset * offset;
  }
  constexpr double kRounding = 1e-12;  // so small a share of the samples is no E_min
  const double s_min = along / squares, e_min = samples - s_min * minibatch;
  return {std::abs(e_min) < kRounding * samples ? 0 : e_min, s_min};
}

}  // namespace kb
