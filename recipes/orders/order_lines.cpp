#include "recipes/orders/order_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/error.h"
#include "graph/parsed_number.h"
#include "recipes/config/values.h"
#include "recipes/orders/line_error.h"
#include "runtime/flat_json.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

constexpr const char* kOrderFormatName = "kilobatch order";

// A line of a gradient, and where it stands.
struct RecordLine {
  FlatJson json;
  const std::filesystem::path& path;
  int64_t number;

  [[noreturn]] void refuse(const char* key, const std::string& expected, const std::string& got) const {
    refuse_line(path, number, fmt::format("\"{}\": {}", key, expected), got);
  }

  const FlatJson::Field& field(const char* key, const std::string& expected) const {
    const FlatJson::Field* found = json.find(key);
    if (!found) refuse(key, expected, "no such field");
    return *found;
  }

  int64_t whole(const char* key, const std::string& expected = "a whole number in [0, 2^63)") const {
    const FlatJson::Field& found = field(key, expected);
    const std::optional<int64_t> value = parsed_number<int64_t>(found.source);
    if (found.kind != FlatJson::Kind::number || !value || *value < 0) refuse(key, expected, in_quotes(found.source));
    return *value;
  }

  std::optional<int64_t> whole_or_null(const char* key) const {
    const std::string expected = "a whole number in [0, 2^63) or null";
    if (field(key, expected).kind == FlatJson::Kind::null) return std::nullopt;
    return whole(key, expected);
  }

  GradientFate fate() const {
    const std::string expected = fmt::format("one of {}", fmt::join(words_of(kGradientFates), ", "));
    const FlatJson::Field& found = field("fate", expected);
    for (const Choice<GradientFate>& choice : kGradientFates)
      if (found.kind == FlatJson::Kind::text && choice.word == found.source) return choice.value;
    refuse("fate", expected, in_quotes(found.source));
  }
};

int64_t whole_in(const JsonValue& json, const char* key, int64_t least, int64_t most) {
  const auto value = json.get<int64_t>(key);
  if (value < least || value > most) json.at(key).refuse(fmt::format("a whole number in [{}, {}]", least, most));
  return value;
}

template <class Choices>
auto choice_in(const JsonValue& json, const char* key, const Choices& choices) {
  const auto word = json.get<std::string>(key);
  for (const auto& choice : choices)
    if (choice.word == word) return choice.value;
  json.at(key).refuse(fmt::format("one of {}", fmt::join(words_of(choices), ", ")));
}

OrderPolicy policy_in(const JsonValue& json) {
  OrderPolicy policy;
  policy.kind = choice_in(json, "policy", kOrderKinds);
  policy.workers = whole_in(json, "workers", 1, kMostOrderWorkers);
  if (policy.kind == OrderKind::stale) policy.bound = whole_in(json, "bound", 0, kWholeBelow - 1);
  if (policy.kind != OrderKind::backup) return policy;
  policy.backups = whole_in(json, "backups", 0, kMostOrderWorkers);
  policy.late = choice_in(json, "late", kLateGradients);
  return policy;
}

GradientTimes times_in(const JsonValue& json, int64_t workers) {
  const auto text = json.get<std::string>("times");
  if (text == times_text({.kind = GradientTimes::Kind::clock})) return {.kind = GradientTimes::Kind::clock};
  GradientTimes times;
  try {
    times = parse_times("times", text);
  } catch (const UsageError&) {
    json.at("times").refuse("clock, constant, exponential, lognormal:S or a path");
  }
  if (times.kind != GradientTimes::Kind::file) return times;
  times.means_s = json.at("means_s").list<double>();
  const auto is_mean = [](double mean) { return mean >= kLeastMean && mean <= kMostMean; };
  if (std::ssize(times.means_s) != workers || !std::all_of(times.means_s.begin(), times.means_s.end(), is_mean))
    json.at("means_s").refuse(fmt::format("{} numbers in [1e-9, 1e6], one for each worker", workers));
  return times;
}

}  // namespace

void append_head(TextBuffer& out, const OrderPlan& plan) {
  const OrderPolicy& policy = plan.policy;
  Json json = {{"format", kOrderFormatName},
               {"format_version", kOrderFormat},
               {"policy", word_of(kOrderKinds, policy.kind)},
               {"workers", policy.workers}};
  if (policy.kind == OrderKind::stale) json["bound"] = policy.bound;
  if (policy.kind == OrderKind::backup) json["backups"] = policy.backups;
  if (policy.kind == OrderKind::backup) json["late"] = word_of(kLateGradients, policy.late);
  json["times"] = times_text(plan.times);
  if (plan.times.kind == GradientTimes::Kind::file) json["means_s"] = plan.times.means_s;
  if (plan.times.message_ns > 0) json["message_ns"] = plan.times.message_ns;
  json["seed"] = plan.seed;
  json["pieces"] = plan.pieces;
  put(out, "{}\n", json.dump());
}

void append_record(TextBuffer& out, const GradientRecord& r) {
  put(out, "{{\"number\":{},\"worker\":{},\"count\":{},\"read\":{},\"applied_to\":", r.number, r.worker, r.count,
      r.read);
  r.applied_to ? put(out, "{}", *r.applied_to) : put(out, "null");
  put(out, ",\"fate\":\"{}\",\"begin_ns\":{},\"end_ns\":{},\"piece\":{}}}\n", word_of(kGradientFates, r.fate),
      r.begin_ns, r.end_ns, r.piece);
}

OrderPlan parse_head(std::string_view text, const std::filesystem::path& path) {
  const JsonValue json = parse_json(std::string(text), path.string());
  if (json.get<std::string>("format") != kOrderFormatName)
    json.at("format").refuse(fmt::format("\"{}\"", kOrderFormatName));
  whole_in(json, "format_version", kOrderFormat, kOrderFormat);
  OrderPlan plan;
  plan.policy = policy_in(json);
  plan.times = times_in(json, plan.policy.all_workers());
  if (json.has("message_ns")) plan.times.message_ns = whole_in(json, "message_ns", 1, kMostMessageNs + 1);
  plan.seed = static_cast<uint64_t>(whole_in(json, "seed", 0, INT64_MAX));
  plan.pieces = whole_in(json, "pieces", 0, INT64_MAX);
  if (const int64_t update = plan.policy.gradients_per_update(); plan.pieces % update != 0)
    json.at("pieces").refuse(fmt::format("a multiple of the {} gradients of an update", update));
  return plan;
}

GradientRecord parse_record(std::string_view text, const std::filesystem::path& path, int64_t number) {
  RecordLine line{{}, path, number};
  if (!line.json.parse(text))
    refuse_line(path, number, "a gradient: a JSON object whose values are numbers, words or null", in_quotes(text));
  return {.number = line.whole("number"),
          .worker = line.whole("worker"),
          .count = line.whole("count"),
          .read = line.whole("read"),
          .applied_to = line.whole_or_null("applied_to"),
          .fate = line.fate(),
          .begin_ns = line.whole("begin_ns"),
          .end_ns = line.whole("end_ns"),
          .piece = line.whole("piece")};
}

}  // namespace kb
