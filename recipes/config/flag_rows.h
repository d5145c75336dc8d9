// Rows of the table of flags: each says how a flag is explained, read and printed. Functions make the usual kinds.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "recipes/config/help.h"
#include "recipes/config/run_config.h"
#include "recipes/config/values.h"

namespace kb {

// Effect of a flag on a run that is resumed. computed: it changes what is computed; another value is refused. length:
// it changes how long the run is; another value is accepted if the steps already done would have been the same.
// comfort: it may change freely. call: it concerns a single call and is not part of the command that repeats the run.
enum class FlagEffect : uint8_t { computed, length, comfort, call };

// Condition under which a flag has an effect: a value of another flag.
struct FlagNeed {
  std::string expected;                               // the needed value as a text for messages, "--schedule step"
  std::string flag;                                   // "--schedule"; the message says its present value
  std::function<bool(const RunConfig&)> is_met = {};  // whether it is met; empty: the flag always has an effect
};

// A member of RunConfig, with its path for messages, such as "batch.per_worker".
template <class Value>
struct Member {
  std::string path;
  Value& (*find)(RunConfig&) = nullptr;

  Value& in(RunConfig& config) const { return find(config); }
  const Value& in(const RunConfig& config) const { return find(const_cast<RunConfig&>(config)); }
};

// All facts of a flag.
struct FlagRow {
  FlagText text;
  std::function<void(RunConfig&, const std::string&)> read;  // sets the member from a text; throws UsageError
  std::function<std::string(const RunConfig&)> print;        // returns the text of the value; empty if there is none
  FlagEffect effect = FlagEffect::computed;
  std::string member = {};  // path of the member that it sets, "batch.per_worker"
  // Whether the processes of a run may have different values of the flag. Data and weights, whose paths may differ, are
  // compared once they are read.
  bool differs = false;
  FlagNeed need = {};
  bool is_of_images = false;     // whether only recipes of labelled images have the flag
  bool is_of_sequences = false;  // whether only recipes with ragged fields have the flag
  std::string heading = {};      // heading of the help that begins with this flag; empty: none begins here
  bool is_common = false;        // whether it is in the short help

  // Each returns the row with one fact changed.
  FlagRow as(FlagEffect what) && { return with(&FlagRow::effect, what); }
  FlagRow of_a_process() && { return with(&FlagRow::differs, true); }
  FlagRow of_images() && { return with(&FlagRow::is_of_images, true); }
  FlagRow of_sequences() && { return with(&FlagRow::is_of_sequences, true); }
  FlagRow common() && { return with(&FlagRow::is_common, true); }
  FlagRow under(std::string title) && { return with(&FlagRow::heading, std::move(title)); }
  FlagRow needs(std::string expected, std::string flag, std::function<bool(const RunConfig&)> is_met) && {
    return with(&FlagRow::need, FlagNeed{std::move(expected), std::move(flag), std::move(is_met)});
  }
  bool has_effect(const RunConfig& config) const { return !need.is_met || need.is_met(config); }

 private:
  template <class Fact>
  FlagRow with(Fact FlagRow::*fact, Fact value) {
    this->*fact = std::move(value);
    return std::move(*this);
  }
};

// Returns every flag of the recipe, first those of the options that it defines itself.
std::vector<FlagRow> flag_table(const Recipe& recipe);

using GivenFlags = std::map<std::string, std::string>;  // values of flags by their names ("--lr"); "" for a switch

// Sets members of `config` from the given flags, in the order of the table, because an optimizer sets defaults of later
// flags. Throws UsageError if a flag has a wrong value.
void read_flags(const std::vector<FlagRow>& table, const GivenFlags& given, RunConfig& config);

// Throws UsageError, which says that the row's flag has no effect because its need is not met.
[[noreturn]] void refuse_without_effect(const FlagRow& row, const std::vector<FlagRow>& table, const RunConfig& config);

// Returns the row of the flag `name`, such as "--lr". Throws UsageError with the nearest name if there is none.
FlagRow find_flag(const Recipe& recipe, const std::string& name);

// Returns the text of a value as its flag takes it: a list's with commas, "" for what is not set.
template <class Value>
std::string value_text(const Value& value) {
  if constexpr (requires { value.has_value(); })
    return value ? value_text(*value) : "";
  else if constexpr (requires { value.text(); })
    return value.text();
  else if constexpr (requires { value.empty(); } && !std::is_same_v<Value, std::string>)
    return fmt::format("{}", fmt::join(value, ","));
  else
    return fmt::format("{}", value);
}

// Returns the row of a member: `parse` reads its value from the name of the flag and a text, `print` returns the text.
template <class Value, class Parse, class Print = decltype(&value_text<Value>)>
FlagRow row_of(FlagText text, Member<Value> member, Parse parse, Print print = value_text<Value>) {
  const std::string name = text.name;
  return {std::move(text), [=](RunConfig& config, const std::string& value) { member.in(config) = parse(name, value); },
          [=](const RunConfig& config) { return print(member.in(config)); }};
}

// Rows of the usual kinds of values. The comments give the values that are accepted.
FlagRow whole(FlagText text, Member<int64_t> member, bool may_be_zero);
FlagRow seed_row(FlagText text, Member<int64_t> member);  // in [0, 2^32)
FlagRow seed_row(FlagText text, Member<std::optional<int64_t>> member);
FlagRow real(FlagText text, Member<double> member);      // >= 0
FlagRow positive(FlagText text, Member<double> member);  // > 0
FlagRow fraction(FlagText text, Member<double> member);  // in [0, 1)
FlagRow share(FlagText text, Member<double> member);     // in (0, 1]
// A choice among names that no enum has, such as the data sets or the schedules.
FlagRow choice(FlagText text, Member<std::string> member, const std::vector<std::string>& choices);
std::string with_words(std::string doc, const std::vector<std::string>& words);  // returns "doc; one of a, b"
// A choice among the values of an enum.
template <class Value, class Choices>
requires std::is_enum_v<Value> FlagRow choice(FlagText text, Member<Value> member, const Choices& choices) {
  text.doc = with_words(std::move(text.doc), words_of(choices));
  return row_of(
      std::move(text), member,
      [&choices](const std::string& name, const std::string& word) { return choice_of(name, choices, word); },
      [&choices](Value value) { return word_of(choices, value); });
}
// A text that is not empty; `what` says in messages what is expected.
FlagRow path(FlagText text, Member<std::string> member, const char* what = "a folder");
FlagRow toggle(FlagText text, Member<bool> member);
// A period. A number without a unit is in the unit `plain`.
FlagRow period(FlagText text, Member<Period> member, Period::Unit plain);
FlagRow optional_real(FlagText text, Member<std::optional<double>> member);  // >= 0

}  // namespace kb
