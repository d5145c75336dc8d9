#include "recipes/trials/policy_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

#include "recipes/config/flag_rows.h"
#include "recipes/config/network.h"

namespace kb {
namespace {

// read_member() sets a member from a text, or throws UsageError. The messages are not read: no flag is named.
void read_member(const std::string& text, double& value) {
  value = parse_real("", text, "", std::numeric_limits<double>::infinity());
}

void read_member(const std::string& text, std::optional<double>& value) {
  double number = 0;
  read_member(text, number);
  value = number;
}

void read_member(const std::string& text, int64_t& value) {
  const double number = parse_real("", text, "", kWholeBelow);
  if (number != std::floor(number)) refuse_value("", "", text);
  value = static_cast<int64_t>(number);
}

void read_member(const std::string& text, bool& value) {
  if (text != "true" && text != "false") refuse_value("", "", text);
  value = text == "true";
}

void read_member(const std::string& text, std::string& value) { value = text; }
void read_member(const std::string& text, std::optional<Period>& value) { value = parse_duration("", text); }
void read_member(const std::string& text, std::optional<Network>& value) { value = parse_network(text); }
void read_member(const std::string& text, Policy& value) { value = choice_of("", kPolicies, text); }
void read_member(const std::string& text, LateGradients& value) { value = choice_of("", kLateGradients, text); }
void read_member(const std::string& text, StaleRate& value) { value = choice_of("", kStaleRates, text); }
void read_member(const std::string& text, MomentumAt& value) { value = choice_of("", kMomentumAt, text); }

template <class Value>
std::string member_text(const Value& value) {
  return value_text(value);
}
std::string member_text(Policy value) { return word_of(kPolicies, value); }
std::string member_text(LateGradients value) { return word_of(kLateGradients, value); }
std::string member_text(StaleRate value) { return word_of(kStaleRates, value); }
std::string member_text(MomentumAt value) { return word_of(kMomentumAt, value); }
std::string member_text(const std::optional<Network>& value) { return network_words(value); }

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

bool set_policy_flag(PolicyFlags& policy, const std::string& flag, const std::string& value) {
  try {
    return any_flag(policy, [&](const char* name, auto& member) {
      if (flag != name) return false;
      read_member(value, member);
      return true;
    });
  } catch (const UsageError&) {
    return false;
  }
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
    defaults.push_back(member_text(member));
    return false;
  });
  std::string words;
  size_t number = 0;
  any_flag(policy, [&](const char* name, const auto& member) {
    const std::string text = member_text(member);
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
