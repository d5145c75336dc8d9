#include "recipes/trials/policy_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "graph/parsed_number.h"
#include "recipes/config/network.h"

namespace kb {
namespace {

bool read_value(const std::string& text, double& value) {
  const std::optional<double> found = parsed_number<double>(text);
  if (!found || !(*found >= 0) || !std::isfinite(*found)) return false;
  value = *found;
  return true;
}

bool read_value(const std::string& text, int64_t& value) {
  double found = 0;
  if (!read_value(text, found) || found != std::floor(found) || found >= kWholeBelow) return false;
  value = static_cast<int64_t>(found);
  return true;
}

bool read_value(const std::string& text, bool& value) {
  if (text != "true" && text != "false") return false;
  value = text == "true";
  return true;
}

bool read_value(const std::string& text, std::string& value) {
  value = text;
  return true;
}

bool read_value(const std::string& text, std::optional<double>& value) {
  double found = 0;
  if (!read_value(text, found)) return false;
  value = found;
  return true;
}

bool read_value(const std::string& text, std::optional<Duration>& value) {
  const std::optional<Duration> found = find_duration(text);
  if (!found) return false;
  value = found;
  return true;
}

template <class Choices, class Value>
bool read_choice(const Choices& choices, const std::string& text, Value& value) {
  const auto at =
      std::find_if(std::begin(choices), std::end(choices), [&](const auto& one) { return one.word == text; });
  if (at == std::end(choices)) return false;
  value = at->value;
  return true;
}
bool read_value(const std::string& text, Policy& value) { return read_choice(kPolicies, text, value); }
bool read_value(const std::string& text, LateGradients& value) { return read_choice(kLateGradients, text, value); }
bool read_value(const std::string& text, StaleRate& value) { return read_choice(kStaleRates, text, value); }
bool read_value(const std::string& text, MomentumAt& value) { return read_choice(kMomentumAt, text, value); }

bool read_value(const std::string& text, std::optional<Network>& value) {
  try {
    value = parse_network(text);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

std::string value_text(double value) { return fmt::format("{}", value); }
std::string value_text(int64_t value) { return fmt::to_string(value); }
std::string value_text(bool value) { return value ? "true" : "false"; }
std::string value_text(const std::string& value) { return value; }
std::string value_text(const std::optional<double>& value) { return value ? value_text(*value) : ""; }
std::string value_text(const std::optional<Duration>& value) { return value ? value->text() : ""; }
std::string value_text(Policy value) { return word_of(kPolicies, value); }
std::string value_text(LateGradients value) { return word_of(kLateGradients, value); }
std::string value_text(StaleRate value) { return word_of(kStaleRates, value); }
std::string value_text(MomentumAt value) { return word_of(kMomentumAt, value); }
std::string value_text(const std::optional<Network>& value) { return value ? network_words(*value) : ""; }

// Calls visit(flag, member) for every flag, until one call returns true. Returns whether one did.
template <class Flags, class Visit>
bool any_flag(Flags& policy, const Visit& visit) {
  auto& sync = policy.sync;
  return visit("policy", sync.policy) || visit("replicas", sync.replicas) || visit("every", sync.every) ||
         visit("from", sync.from) || visit("outer", sync.outer) || visit("outer-lr", sync.outer_lr) ||
         visit("outer-momentum", sync.outer_momentum) || visit("outer-per-rate", sync.outer_per_rate) ||
         visit("stale-bound", sync.bound) || visit("backups", sync.backups) || visit("late", sync.late) ||
         visit("stale-rate", sync.stale_rate) || visit("momentum-at", sync.momentum_at) || visit("times", sync.times) ||
         visit("times-net", sync.net) || visit("per-worker", policy.per_worker) ||
         visit("processes", policy.processes) || visit("momentum", policy.momentum) ||
         visit("reduce-precision", policy.reduce_precision);
}

}  // namespace

int64_t PolicyFlags::workers(int64_t minibatch) const {
  return std::max<int64_t>(1, per_worker > 0 ? minibatch / per_worker : processes);
}

bool PolicyFlags::operator==(const PolicyFlags& other) const { return policy_words(*this) == policy_words(other); }

bool set_policy_flag(PolicyFlags& policy, const std::string& flag, const std::string& value) {
  return any_flag(policy, [&](const char* name, auto& member) { return flag == name && read_value(value, member); });
}

std::string set_policy_words(PolicyFlags& policy, const std::string& words) {
  std::istringstream stream(words);
  std::string unknown;
  for (std::string word; stream >> word;) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string value = word.substr(std::min(equals + 1, word.size()));
    if (!set_policy_flag(policy, word.substr(0, equals), value) && unknown.empty()) unknown = word;
  }
  return unknown;
}

std::string policy_words(const PolicyFlags& policy) {
  std::vector<std::string> defaults;
  const PolicyFlags none;
  any_flag(none, [&](const char*, const auto& member) {
    defaults.push_back(value_text(member));
    return false;
  });
  std::string words;
  size_t number = 0;
  any_flag(policy, [&](const char* name, const auto& member) {
    const std::string text = value_text(member);
    if (text != defaults[number++]) words += fmt::format("{}{}={}", words.empty() ? "" : " ", name, text);
    return false;
  });
  return words;
}

std::string policy_name(const PolicyFlags& policy) {
  const Synchronising& sync = policy.sync;
  const std::string rate = fmt::format("{}{}", sync.stale_rate == StaleRate::inverse ? " 1/staleness" : "",
                                       sync.momentum_at == MomentumAt::worker ? " momentum at workers" : "");
  const std::string replicas = sync.replicas > 0 ? fmt::to_string(sync.replicas) : "k";
  switch (sync.policy) {
    case Policy::sync:
      return "sync";
    case Policy::local: {
      const bool is_mean = sync.outer == "sgd" && sync.outer_lr == 1;
      return fmt::format("{}local R {} H {}{}", sync.from ? "post-" : "", replicas, sync.every,
                         is_mean ? "" : fmt::format(" outer {} {:g}", sync.outer, sync.outer_lr));
    }
    case Policy::async:
      return fmt::format("async{}", rate);
    case Policy::stale:
      return fmt::format("stale {}{}", sync.bound, rate);
    case Policy::backup:
      return fmt::format("backup {}{}", sync.backups, sync.late == LateGradients::finish ? " finish" : "");
  }
  return "";
}

}  // namespace kb
