// One row a flag: what its help says, how it reads and how it prints; and the makers of rows for the usual sorts.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "recipes/config/help.h"
#include "recipes/config/run_config.h"
#include "recipes/config/values.h"

namespace kb {

// Effect of a flag on a run that is resumed. computed: it changes what is computed, and is refused. length: how long
// the run is; taken where the steps done would have been the same. comfort: free to change. call: of one call alone,
// and no part of the command that repeats the run.
enum class FlagEffect : uint8_t { computed, length, comfort, call };

// Condition under which a flag has an effect: a value of another flag.
struct FlagNeed {
  std::string expected;                               // "--schedule step", for a message
  std::string flag;                                   // "--schedule": its value stands behind it in the message
  std::function<bool(const RunConfig&)> is_met = {};  // empty: the flag always has an effect
};

// A member of RunConfig, and its path for messages: "batch.per_worker".
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
  std::function<void(RunConfig&, const std::string&)> read;  // throws UsageError
  std::function<std::string(const RunConfig&)> print;        // empty: nothing to say
  FlagEffect effect = FlagEffect::computed;
  std::string member = {};  // path of the member that it sets, "batch.per_worker"
  bool differs = false;     // between processes of a run; what data and weights it names is compared once they are read
  FlagNeed need = {};
  bool is_of_images = false;  // a recipe with a task of its own does not have the flag
  std::string heading = {};   // of the help, above this flag and those behind it; empty: as the flag before
  bool is_common = false;     // stands in the short help

  FlagRow as(FlagEffect what) &&;
  FlagRow of_a_process() &&;
  FlagRow of_images() &&;
  FlagRow common() &&;
  FlagRow under(std::string title) &&;
  FlagRow needs(std::string expected, std::string flag, std::function<bool(const RunConfig&)> is_met) &&;
  bool has_effect(const RunConfig& config) const { return !need.is_met || need.is_met(config); }
};

// Every flag of the recipe, its own first.
std::vector<FlagRow> flag_table(const Recipe& recipe);

// Throws UsageError: the row's flag is given where it has no effect, as its need is not met.
[[noreturn]] void refuse_without_effect(const FlagRow& row, const std::vector<FlagRow>& table, const RunConfig& config);

// The row of "--lr". Throws UsageError with the nearest name there is.
FlagRow find_flag(const Recipe& recipe, const std::string& name);

FlagRow whole(FlagText text, Member<int64_t> member, bool may_be_zero);
FlagRow seed_row(FlagText text, Member<int64_t> member);  // in [0, 2^32)
FlagRow seed_row(FlagText text, Member<std::optional<int64_t>> member);
FlagRow real(FlagText text, Member<double> member);      // >= 0
FlagRow positive(FlagText text, Member<double> member);  // > 0
FlagRow fraction(FlagText text, Member<double> member);  // in [0, 1)
// A name of a list that is no closed set: data sets, optimizers' schedules.
FlagRow choice(FlagText text, Member<std::string> member, const std::vector<std::string>& choices);
std::string with_words(std::string doc, const std::vector<std::string>& words);  // "doc; one of a, b"
template <class Value, size_t count>
FlagRow choice(FlagText text, Member<Value> member, const Choice<Value> (&choices)[count]) {
  const std::string name = text.name;
  text.doc = with_words(std::move(text.doc), words_of(choices));
  return {
      std::move(text),
      [=, &choices](RunConfig& config, const std::string& word) { member.in(config) = choice_of(name, choices, word); },
      [=, &choices](const RunConfig& config) { return word_of(choices, member.in(config)); }};
}
FlagRow path(FlagText text, Member<std::string> member, const char* what = "a folder");
FlagRow toggle(FlagText text, Member<bool> member);
// `plain`: unit of a number without one.
FlagRow period(FlagText text, Member<Period> member, Period::Unit plain);
FlagRow optional_real(FlagText text, Member<std::optional<double>> member);  // >= 0

}  // namespace kb
