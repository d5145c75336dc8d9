#include "optim/adascale.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "graph/error.h"

namespace kb {
namespace {

constexpr double kWindow = 1000;         // steps of B0 that an average looks back on (section 3.3)
constexpr double kLeastVariance = 1e-6;  // least variance of an estimate, as in the paper
constexpr size_t kDigits = 16;           // hexadecimal digits that hold the bits of a double

std::string digits_of(double value) { return fmt::format("{:016x}", std::bit_cast<uint64_t>(value)); }

double double_of(std::string_view digits) {
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  const double value = std::bit_cast<double>(bits);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
    throw Error(fmt::format("AdaScale: expected {} hexadecimal digits of a finite number, got '{}'", kDigits, digits));
  return value;
}

}  // namespace

double adascale_gain(double variance, double gradient2, double scale) {
  return std::clamp((variance + gradient2) / (variance / scale + gradient2), 1.0, scale);
}

double AdaScaleSizes::scale() const {
  return static_cast<double>(workers * per_worker) / static_cast<double>(base_minibatch);
}

AdaScale::AdaScale(const AdaScaleSizes& sizes) : sizes_(sizes), decay_(std::max(1 - sizes.scale() / kWindow, 0.0)) {
  if (sizes.base_minibatch < 1 || sizes.workers < 2 || sizes.per_worker < 1 || sizes.scale() < 1)
    throw std::invalid_argument("AdaScale: it takes two workers or more, of a base minibatch or more together");
  known(1).iterations = 1;
}

AdaScale::AdaScale(const AdaScaleSizes& sizes, int64_t step, std::string_view state) : AdaScale(sizes) {
  if (state.size() != kStateDigits)
    throw Error(fmt::format("AdaScale: expected a state of {} digits, got {}", kStateDigits, state.size()));
  const auto take = [&state] {
    const double value = double_of(state.substr(0, kDigits));
    state.remove_prefix(kDigits);
    return value;
  };
  next_ = step;
  for (double* sum : {&weight_, &variance_, &gradient2_}) *sum = take();
  for (const int64_t near : {step - 1, step, step + 1}) {
    known(near).gain = take();
    known(near).iterations = take();
  }
}

std::string AdaScale::state() const {
  std::string text = digits_of(weight_) + digits_of(variance_) + digits_of(gradient2_);
  for (const int64_t near : {next_ - 1, next_, next_ + 1})
    text += digits_of(at(near).gain) + digits_of(at(near).iterations);
  return text;
}

// Clamps the estimates of a step, as the paper does, and not their averages.
void AdaScale::add(const GradientNorms& norms) {
  const NoiseSample sample = noise_sample(norms, sizes_.workers, sizes_.per_worker);
  if (std::isfinite(sample.gradient2) && std::isfinite(sample.trace)) {
    const double variance = std::max(sample.trace / static_cast<double>(sizes_.base_minibatch), kLeastVariance);
    weight_ = decay_ * weight_ + 1;
    variance_ = decay_ * variance_ + variance;
    gradient2_ = decay_ * gradient2_ + std::max(sample.gradient2, 0.0);
  }
  ++next_;
  const ScaledStep& now = known(next_);
  known(next_ + 1) = {gain(), now.iterations + now.gain};
}

// Both averages lack the division by the sum of weights; it cancels in the ratio.
double AdaScale::gain() const { return weight_ > 0 ? adascale_gain(variance_, gradient2_, sizes_.scale()) : 1; }

const ScaledStep& AdaScale::at(int64_t step) const {
  ensure(step >= next_ - 2 && step <= next_ + 1, "AdaScale knows the steps around the next one alone");
  return known_[static_cast<size_t>(step + 2) % known_.size()];
}

}  // namespace kb
