#include "graph/initialiser.h"

#include <cmath>

#include "graph/enum_table.h"
#include "graph/report.h"

namespace kb {
namespace {

using Rule = Initialiser::Rule;

constexpr EnumNames<Rule> kNames({"he_normal(fan_in)", "he_normal(fan_out)", "normal", "uniform_fan_in",
                                  "glorot_uniform", "zeros", "ones", "truncated_normal", "orthogonal"});
std::string_view name(Rule rule) { return kNames[rule]; }

double real_fan(std::string_view op, Rule rule, double fan) {
  if (fan == 0)
    report(op, {"the weight has no fans", "normal(s), zeros or ones", std::string(name(rule)),
                "a norm's weight scales its input, element by element"});
  return fan;
}

double real_std(std::string_view op, const Initialiser& initialiser) {
  const double std = initialiser.std;
  const std::string rule(name(initialiser.rule));
  if (!(std > 0) || !std::isfinite(std))
    report(op, {(initialiser.rule == Rule::orthogonal ? "factor" : "standard deviation") + std::string(" out of range"),
                rule + "(s) with a finite s > 0", rule + "(" + number_text(std) + ")", "zeros makes every element 0"});
  return std;
}

}  // namespace

Init resolve(std::string_view op, Initialiser initialiser, const Fans& fans) {
  const Rule rule = initialiser.rule;
  const auto fan = [&](double count) { return real_fan(op, rule, count); };
  switch (rule) {
    case Rule::he_normal_fan_in:
      return {InitKind::normal, 0, std::sqrt(2 / fan(fans.in)), name(rule)};
    case Rule::he_normal_fan_out:
      return {InitKind::normal, 0, std::sqrt(2 / fan(fans.out)), name(rule)};
    case Rule::normal:
      return {InitKind::normal, 0, real_std(op, initialiser), name(rule)};
    case Rule::truncated_normal:
      return {InitKind::truncated_normal, 0, real_std(op, initialiser), name(rule)};
    case Rule::orthogonal:
      fan(fans.in);  // a norm's weight is no matrix
      return {InitKind::orthogonal, 0, real_std(op, initialiser), name(rule)};
    case Rule::uniform_fan_in: {
      const double bound = 1 / std::sqrt(fan(fans.in));
      return {InitKind::uniform, -bound, bound, name(rule)};
    }
    case Rule::glorot_uniform: {
      const double bound = std::sqrt(6 / (fan(fans.in) + fan(fans.out)));
      return {InitKind::uniform, -bound, bound, name(rule)};
    }
    case Rule::zeros:
      return {InitKind::constant, 0, 0, name(rule)};
    case Rule::ones:
      return {InitKind::constant, 1, 0, name(rule)};
  }
  throw InternalError("resolve: an initialiser of no rule");
}

}  // namespace kb
