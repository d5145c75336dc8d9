#include "recipes/config/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/parsed_number.h"
#include "optim/scaling.h"
#include "recipes/config/values.h"

namespace kb {
namespace {

constexpr const char* kGrowthExpectation =
    "growths such as 30ep:x5,60ep:x5 or 2000st:x2:sqrt: epochs (ep), steps (st) or 1,000 samples (ks) > 0 that rise, "
    "then one or more of :xF for F times the samples, :longF for F times the length (whole factors > 1), :sqrt, "
    ":linear or :rateF where the learning rate moves, :again or :warm0.5ep where its schedule begins anew";
constexpr int64_t kFactorBelow = 1 << 20;  // bound of factors: a minibatch < 2^31 times a factor fits 64 bits

bool is_rule(std::string_view name) {
  const std::span<const ScalingRule> rules = scaling_rules();
  return std::any_of(rules.begin(), rules.end(),
                     [&](const ScalingRule& rule) { return rule.name == name && !rule.has_gains; });
}

// Returns what is behind `word` in a part of a growth; nothing if the part does not begin with it.
std::optional<std::string_view> behind(std::string_view part, std::string_view word) {
  return part.starts_with(word) ? std::optional(part.substr(word.size())) : std::nullopt;
}

bool set_factor(int64_t& factor, std::string_view digits) {
  const std::optional<int64_t> value = parsed_number<int64_t>(digits);
  if (!value || *value <= 1 || *value >= kFactorBelow || factor > 1) return false;
  factor = *value;
  return true;
}

bool set_rate(double& rate, std::string_view digits) {
  const std::optional<double> value = parsed_number<double>(digits);
  if (!value || !std::isfinite(*value) || *value <= 0 || rate != 1) return false;
  rate = *value;
  return true;
}

bool set_restart(Growth& growth) { return !std::exchange(growth.restarts, true); }

bool set_warmup(Growth& growth, std::string_view duration) {
  growth.warmup = find_duration(duration);
  return growth.warmup && set_restart(growth);
}

bool set_rule(std::string& rule, std::string_view name) { return std::exchange(rule, name) == "none"; }

// Sets what a part such as "x5" or "sqrt" says. Returns false for other parts, and for what is set already.
bool set_part(Growth& growth, std::string_view part) {
  if (is_rule(part)) return set_rule(growth.rule, part);
  if (part == "again") return set_restart(growth);
  if (const auto digits = behind(part, "x")) return set_factor(growth.factor, *digits);
  if (const auto digits = behind(part, "long")) return set_factor(growth.longer, *digits);
  if (const auto digits = behind(part, "rate")) return set_rate(growth.rate, *digits);
  if (const auto duration = behind(part, "warm")) return set_warmup(growth, *duration);
  return false;
}

std::optional<Growth> find_growth(const std::string& word) {
  const size_t colon = word.find(':');
  const std::optional<Period> at = find_period(std::string_view(word).substr(0, colon));
  if (!at || colon == std::string::npos) return std::nullopt;
  Growth growth{*at};
  for (size_t begin = colon + 1, end = 0; end != std::string::npos; begin = end + 1) {
    end = word.find(':', begin);
    if (!set_part(growth, std::string_view(word).substr(begin, end - begin))) return std::nullopt;
  }
  const bool changes = growth.factor > 1 || growth.longer > 1 || growth.rate != 1 || growth.restarts;
  const bool lacks_factor = growth.rule != "none" && growth.factor == 1;
  return changes && !lacks_factor ? std::optional(growth) : std::nullopt;
}

}  // namespace

std::string Growth::text() const {
  std::string text = at.text();
  if (factor > 1) text += fmt::format(":x{}", factor);
  if (longer > 1) text += fmt::format(":long{}", longer);
  if (rule != "none") text += ":" + rule;
  if (rate != 1) text += fmt::format(":rate{}", rate);
  if (warmup) return text + ":warm" + warmup->text();
  return restarts ? text + ":again" : text;
}

std::vector<Growth> parse_growths(const std::string& flag, const std::string& text) {
  std::vector<Growth> growths;
  if (text.empty()) return growths;
  for (const std::string& word : comma_separated(text)) {
    const std::optional<Growth> growth = find_growth(word);
    const Period before = growths.empty() ? Period{} : growths.back().at;
    if (!growth || (growth->at.unit == before.unit && growth->at.count <= before.count))
      refuse_value(flag, kGrowthExpectation, text);
    growths.push_back(*growth);
  }
  return growths;
}

std::string growths_text(const std::vector<Growth>& growths) {
  std::string text;
  for (const Growth& growth : growths) text += (text.empty() ? "" : ",") + growth.text();
  return text;
}

}  // namespace kb
