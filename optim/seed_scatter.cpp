#include "optim/seed_scatter.h"

#include <algorithm>
#include <cmath>

#include "graph/error.h"

namespace kb {
namespace {

constexpr double kLeast = 1e-9;  // runs with equal steps have no deviation

// The negative logarithm of the likelihood times the prior, and its search by Fisher's scoring.
class ScatterSearch {
 public:
  explicit ScatterSearch(std::span<const ScatterSample> samples) : samples_(samples) {
    const double range = std::log(samples.back().minibatch / samples.front().minibatch);
    const double threefold = 2 * std::log(3);  // log sigma^2 of a sigma three times as great
    prior_ = range > 0 ? std::pow(range / threefold, 2) : 0;
    longest_ = range > 0 ? 1 / range : 0;
    double degrees = 0, squares = 0;
    for (const ScatterSample& one : samples) {
      const auto count = static_cast<double>(one.degrees);
      degrees += count;
      squares += one.squares;
      law_.middle += count * std::log(one.minibatch);
    }
    ensure(degrees >= 1, "fit_scatter: expected a degree of freedom");
    law_.middle /= degrees;
    double offsets = 0;
    for (const ScatterSample& one : samples) offsets += static_cast<double>(one.degrees) * std::pow(offset(one), 2);
    law_.level_variance = 2 / degrees;
    law_.slope_variance = range > 0 ? 1 / (offsets / 2 + prior_) : 0;
    is_exact_ = squares <= degrees * kLeast * kLeast;
    law_.level = is_exact_ ? 2 * std::log(kLeast) : std::log(squares / degrees);
  }

  ScatterLaw best() {
    constexpr int kMostSteps = 200;
    constexpr double kSame = 1e-12;
    if (is_exact_ || law_.slope_variance == 0) return law_;
    for (int i = 0; i < kMostSteps; ++i) {
      const double moved = step();
      if (moved <= kSame) break;
    }
    return law_;
  }

 private:
  double offset(const ScatterSample& one) const { return std::log(one.minibatch) - law_.middle; }

  double cost(const ScatterLaw& law) const {
    double sum = prior_ * law.slope * law.slope / 2;
    for (const ScatterSample& one : samples_) {
      const double log_variance = law.level + law.slope * offset(one);
      sum += (one.squares * std::exp(-log_variance) + static_cast<double>(one.degrees) * log_variance) / 2;
    }
    return sum;
  }

  // Moves the law; returns how far. A step that does not gain is halved.
  double step() {
    constexpr int kMostHalvings = 40;
    double along_level = 0, along_slope = -prior_ * law_.slope;
    for (const ScatterSample& one : samples_) {
      const double log_variance = law_.level + law_.slope * offset(one);
      const double excess = (one.squares * std::exp(-log_variance) - static_cast<double>(one.degrees)) / 2;
      along_level += excess;
      along_slope += excess * offset(one);
    }
    double level = std::clamp(along_level * law_.level_variance, -1.0, 1.0),
           slope = std::clamp(along_slope * law_.slope_variance, -longest_, longest_);
    const double before = cost(law_);
    for (int halving = 0; halving < kMostHalvings; ++halving, level /= 2, slope /= 2) {
      ScatterLaw next = law_;
      next.level += level;
      next.slope += slope;
      if (cost(next) >= before) continue;
      law_ = next;
      return std::max(std::abs(level), std::abs(slope));
    }
    return 0;
  }

  std::span<const ScatterSample> samples_;
  ScatterLaw law_;
  double prior_ = 0, longest_ = 0;  // precision of the slope a priori; longest step of the slope
  bool is_exact_ = false;
};

}  // namespace

SeedScatter ScatterLaw::at(double minibatch) const {
  const double offset = std::log(minibatch) - middle;
  return {std::exp((level + slope * offset) / 2),
          std::max(1.0, 2 / (level_variance + slope_variance * offset * offset))};
}

// The law's degrees of freedom here, without those that it has from these runs, and what it is worth beside them add as
// variances of log sigma^2 do.
SeedScatter ScatterLaw::with(const ScatterSample& own) const {
  constexpr double kLawDegrees = 4;
  const auto [deviation, degrees] = at(own.minibatch);
  const auto runs = static_cast<double>(own.degrees);
  const double beyond = std::max(1.0, own.squares / std::max(1.0, runs) / (deviation * deviation));
  const double worth = kLawDegrees / (beyond * beyond), others = std::max(0.0, degrees - runs);
  const double law = worth * others / (worth + others);
  return {std::sqrt((law * deviation * deviation + own.squares) / (law + runs)), std::max(1.0, law + runs)};
}

ScatterLaw fit_scatter(std::span<const ScatterSample> samples) {
  ensure(!samples.empty(), "fit_scatter: expected a minibatch");
  return ScatterSearch(samples).best();
}

}  // namespace kb
