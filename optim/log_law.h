// The scaling law of optim/critical_batch.h in logarithms, and the quantities of it for which intervals are sought.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace kb {

// Perfect scaling ends at the minibatch whose steps exceed E_min / B by this share: below it, twice the minibatch takes
// half the steps. Gain ends at the minibatch whose steps exceed S_min, the fewest, by this share. With k = 1 these are
// 0.2 B_crit and 4 B_crit; from the second on, doubling the minibatch saves at most 10 % of the steps.
inline constexpr double kPerfectExcess = 0.2, kGainExcess = 0.25;

// The law in logarithms: log S = log(exp(k s) + exp(k (e - b))) / k, with s = log S_min, e = log E_min, b = log B.
struct LogLaw {
  double s = 0, e = 0, k = 1;

  double steps(double b) const {
    const double fewest = k * s, perfect = k * (e - b), most = std::max(fewest, perfect);
    return (most + std::log(std::exp(fewest - most) + std::exp(perfect - most))) / k;
  }
  // Returns the derivative of log S by e. That by s is the rest to 1.
  double share_of_e(double b) const { return 1 / (1 + std::exp(k * (s - e + b))); }
};

// All laws of one k in which a quantity has a given value. One number is free among them.
struct LawCurve {
  double k;
  std::function<LogLaw(double)> at;
  std::function<std::pair<double, double>(const LogLaw&)> slope;  // derivatives of s and e by the free number
};

// The logarithm of S_min, E_min or another quantity of the law, for which an interval is sought.
struct Quantity {
  std::function<double(const LogLaw&)> of;
  std::function<LawCurve(double value, double k)> curve;
  std::function<double(const LogLaw&)> free;  // the number that is free along the curve
};

Quantity log_s_min();
Quantity log_e_min();
Quantity log_b_crit();
// The end of perfect scaling: (1 + (B / B_crit)^k)^(1 / k) = 1 + kPerfectExcess.
Quantity log_perfect_end();
// The end of the gain: (1 + (B_crit / B)^k)^(1 / k) = 1 + kGainExcess.
Quantity log_gain_end();
// The steps at log minibatch b; log B_crit is the free number.
Quantity log_steps(double b);

}  // namespace kb
