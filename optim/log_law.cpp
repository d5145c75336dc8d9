#include "optim/log_law.h"

namespace kb {
namespace {

// The quantity log B_crit + offset(k), a minibatch.
Quantity log_minibatch(double (*offset)(double k)) {
  return {[=](const LogLaw& law) { return law.e - law.s + offset(law.k); },
          [=](double value, double k) {
            return LawCurve{k,
                            [=](double s) {
                              return LogLaw{s, s + value - offset(k), k};
                            },
                            [](const LogLaw&) { return std::pair(1.0, 1.0); }};
          },
          [](const LogLaw& law) { return law.s; }};
}

}  // namespace

Quantity log_s_min() {
  return {[](const LogLaw& law) { return law.s; },
          [](double value, double k) {
            return LawCurve{k,
                            [=](double e) {
                              return LogLaw{value, e, k};
                            },
                            [](const LogLaw&) { return std::pair(0.0, 1.0); }};
          },
          [](const LogLaw& law) { return law.e; }};
}

Quantity log_e_min() {
  return {[](const LogLaw& law) { return law.e; },
          [](double value, double k) {
            return LawCurve{k,
                            [=](double s) {
                              return LogLaw{s, value, k};
                            },
                            [](const LogLaw&) { return std::pair(1.0, 0.0); }};
          },
          [](const LogLaw& law) { return law.s; }};
}

Quantity log_b_crit() {
  return log_minibatch([](double) { return 0.0; });
}

Quantity log_perfect_end() {
  return log_minibatch([](double k) { return std::log(std::pow(1 + kPerfectExcess, k) - 1) / k; });
}

Quantity log_gain_end() {
  return log_minibatch([](double k) { return -std::log(std::pow(1 + kGainExcess, k) - 1) / k; });
}

Quantity log_steps(double b) {
  return {[=](const LogLaw& law) { return law.steps(b); },
          [=](double value, double k) {
            return LawCurve{k,
                            [=](double critical) {
                              const double s = value - LogLaw{0, critical, k}.steps(b);
                              return LogLaw{s, s + critical, k};
                            },
                            [=](const LogLaw& law) {
                              const double share = law.share_of_e(b);
                              return std::pair(-share, 1 - share);
                            }};
          },
          [](const LogLaw& law) { return law.e - law.s; }};
}

}  // namespace kb
