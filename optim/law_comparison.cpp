#include "optim/law_comparison.h"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>

#include "optim/distributions.h"

namespace kb {
namespace {

constexpr double kTailOfRatio = 0.025;
constexpr double kOpenEnd = std::numeric_limits<double>::infinity();

// Returns |log(end / value)|; infinity when the end of an interval is open, which is 0 or infinite.
double log_distance(double value, double end) {
  return end > 0 && end < kOpenEnd ? std::abs(std::log(end / value)) : kOpenEnd;
}

// Returns the degrees of freedom: minibatches less fitted numbers.
double degrees_of(const ScalingFit& fit) { return static_cast<double>(fit.residuals.size()) - (fit.k ? 3 : 2); }

// Returns how far the interval of a difference reaches, from how far those of its two parts reach at their degrees of
// freedom. Each distance over its quantile of Student's t is a standard error. Their squares add, and the sum has the
// degrees of freedom of Satterthwaite 1946 (Biometrics Bulletin 2, 110). With one degree of freedom in a part that
// formula is too sure, and the distances add as squares as they are.
double joined_distance(double a, double of_a, double b, double of_b) {
  if (a == kOpenEnd || b == kOpenEnd) return kOpenEnd;
  if (std::min(of_a, of_b) <= 1) return std::hypot(a, b);
  const double variance_a = std::pow(a / student_t(kTailOfRatio, of_a), 2),
               variance_b = std::pow(b / student_t(kTailOfRatio, of_b), 2), variance = variance_a + variance_b;
  if (variance == 0) return 0;
  const double degrees = variance * variance / (variance_a * variance_a / of_a + variance_b * variance_b / of_b);
  return student_t(kTailOfRatio, degrees) * std::sqrt(variance);
}

struct RatesAt {
  double log_most = 0, squares = 0;
};

// Returns log eta_max that fits best at a given B_n, and the sum of squares that remains.
RatesAt rates_at(std::span<const BestRateAt> best, double noise_batch) {
  RatesAt found;
  const auto count = static_cast<double>(best.size());
  const auto log_most = [&](const BestRateAt& at) { return std::log(at.rate * (1 + noise_batch / at.minibatch)); };
  for (const BestRateAt& at : best) found.log_most += log_most(at) / count;
  for (const BestRateAt& at : best) found.squares += std::pow(log_most(at) - found.log_most, 2);
  return found;
}

// Returns the variance that rates have because those tried lie apart.
double variance_of_spacing(std::span<const BestRateAt> best) {
  double sum = 0;
  for (const BestRateAt& at : best) sum += at.spacing * at.spacing / 12;
  return sum / static_cast<double>(best.size());
}

// Adds the intervals: all pairs of eta_max and B_n whose sum of squares stays below a limit. log B_n is sought in
// [low, high], whose ends stand for open ones.
void add_intervals(RateLaw& law, std::span<const BestRateAt> best, double low, double high) {
  constexpr int kPlaces = 4000;
  const auto count = static_cast<double>(best.size());
  const double degrees = count - 2, t = student_t(kTailOfRatio, degrees),
               least = rates_at(best, law.noise_batch.value).squares,
               limit = least + t * t * std::max(least / degrees, variance_of_spacing(best));
  ConfidenceInterval &noise = law.noise_batch.interval, &most = law.eta_max.interval;
  noise = {law.noise_batch.value, law.noise_batch.value}, most = {law.eta_max.value, law.eta_max.value};
  for (int i = 0; i <= kPlaces; ++i) {
    const double noise_batch = std::exp(std::lerp(low, high, static_cast<double>(i) / kPlaces));
    const RatesAt here = rates_at(best, noise_batch);
    if (here.squares > limit) continue;
    const double beside = std::sqrt((limit - here.squares) / count);
    most.low = std::min(most.low, std::exp(here.log_most - beside));
    most.high = i == kPlaces ? kOpenEnd : std::max(most.high, std::exp(here.log_most + beside));
    noise.low = i == 0 ? 0 : std::min(noise.low, noise_batch);
    noise.high = i == kPlaces ? kOpenEnd : std::max(noise.high, noise_batch);
  }
}

}  // namespace

Estimate ratio_of(const ScalingFit& first, const ScalingFit& second, Estimate ScalingFit::*estimate) {
  const Estimate &a = first.*estimate, &b = second.*estimate;
  const double of_a = degrees_of(first), of_b = degrees_of(second);
  const double down = joined_distance(log_distance(a.value, a.interval.low), of_a,
                                      log_distance(b.value, b.interval.high), of_b),
               up = joined_distance(log_distance(a.value, a.interval.high), of_a, log_distance(b.value, b.interval.low),
                                    of_b);
  const double ratio = a.value / b.value;
  return {ratio, {ratio * std::exp(-down), ratio * std::exp(up)}};
}

std::optional<RateLaw> fit_rate_law(std::span<const BestRateAt> best) {
  constexpr size_t kFewest = 3;
  constexpr int kBits = 24;
  constexpr double kEdge = 0.01;  // a minimum so near to an end of the range, in logarithms, counts as the end
  if (best.size() < kFewest) return std::nullopt;
  const double low = std::log(best.front().minibatch / kWidestCritical),
               high = std::log(best.back().minibatch * kWidestCritical);
  const auto squares = [&](double log_batch) { return rates_at(best, std::exp(log_batch)).squares; };
  const double log_batch = boost::math::tools::brent_find_minima(squares, low, high, kBits).first;
  if (log_batch < low + kEdge || log_batch > high - kEdge) return std::nullopt;
  RateLaw law;
  law.noise_batch.value = std::exp(log_batch);
  const RatesAt found = rates_at(best, law.noise_batch.value);
  law.eta_max.value = std::exp(found.log_most);
  law.rms = std::sqrt(found.squares / static_cast<double>(best.size()));
  add_intervals(law, best, low, high);
  return law;
}

}  // namespace kb
