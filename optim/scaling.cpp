#include "optim/scaling.h"

#include <cmath>

#include "optim/rows.h"

namespace kb {
namespace {

constexpr ScalingRule kRules[] = {
    {"none", "the same for every minibatch", [](double) { return 1.0; }, ""},
    // This is the linear scaling rule of Goyal et al. 2017, section 2.1.
    {"linear", "k times the minibatch, k times the learning rate", [](double k) { return k; }, " x {}/{}"},
    // This rule keeps the variance of the update (Krizhevsky 2014).
    {"sqrt", "k times the minibatch, sqrt(k) times the learning rate", [](double k) { return std::sqrt(k); },
     " x sqrt({}/{})"},
    // This row stands for AdaScale (Johnson et al. 2020), whose steps have their own gains.
    {"adascale", "each step its own gain", [](double) { return 1.0; }, "", true},
};

const ScalingRule& find_rule(const std::string& name) { return find_row(kRules, "scaling rule", name); }

}  // namespace

std::span<const ScalingRule> scaling_rules() { return kRules; }

double ReferenceRate::at(int64_t minibatch) const {
  const ScalingRule& found = find_rule(rule);
  if (base_minibatch == 0) return learning_rate;
  return learning_rate * found.factor(static_cast<double>(minibatch) / static_cast<double>(base_minibatch));
}

std::string ReferenceRate::derivation(int64_t minibatch) const {
  const std::string factor =
      base_minibatch == 0 ? "" : fmt::format(fmt::runtime(find_rule(rule).format), minibatch, base_minibatch);
  return factor.empty() ? fmt::format("{:.6g}", learning_rate)
                        : fmt::format("{:.6g} = {:.6g}{}", at(minibatch), learning_rate, factor);
}

bool ReferenceRate::has_gains() const { return base_minibatch > 0 && find_rule(rule).has_gains; }

}  // namespace kb
