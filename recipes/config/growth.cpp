#include "recipes/config/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "optim/scaling.h"
#include "recipes/config/values.h"

namespace kb {
namespace {

constexpr const char* kGrowthExpectation =
    "growths such as 30ep:x5,60ep:x5 or 2000st:x2:sqrt: epochs (ep), steps (st) or 1,000 samples (ks) > 0 that rise, "
    "whole factors > 1, and :sqrt or :linear where the learning rate moves too";
constexpr int64_t kFactorBelow = 1 << 20;  // bound of factors: a minibatch < 2^31 times a factor fits 64 bits

std::optional<int64_t> factor_of(std::string_view digits) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number && value > 1 && value < kFactorBelow ? std::optional(value) : std::nullopt;
}

bool is_rule(const std::string& name) {
  const std::span<const ScalingRule> rules = scaling_rules();
  return std::any_of(rules.begin(), rules.end(),
                     [&](const ScalingRule& rule) { return rule.name == name && !rule.has_gains; });
}

std::optional<Growth> find_growth(const std::string& word) {
  constexpr std::string_view kTimes = ":x";
  const size_t times = word.find(kTimes), number = times + kTimes.size();
  if (times == std::string::npos) return std::nullopt;
  const size_t colon = word.find(':', number);
  const std::optional<Period> at = find_period(std::string_view(word).substr(0, times));
  const std::optional<int64_t> factor = factor_of(std::string_view(word).substr(number, colon - number));
  if (!at || !factor) return std::nullopt;
  Growth growth{*at, *factor};
  if (colon != std::string::npos) growth.rule = word.substr(colon + 1);
  return is_rule(growth.rule) ? std::optional(growth) : std::nullopt;
}

}  // namespace

std::string Growth::text() const {
  return fmt::format("{}:x{}{}", at.text(), factor, rule == "none" ? "" : ":" + rule);
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
