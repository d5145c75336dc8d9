#include "recipes/config/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "recipes/config/command_line.h"
#include "recipes/config/group_rows.h"
#include "recipes/config/learning.h"
#include "recipes/config/learning_rows.h"
#include "recipes/config/network.h"
#include "recipes/config/preset.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

// Returns a reader of the word none, and of what `parse` reads.
template <class Parse>
auto or_none(Parse parse) {
  return [=](const std::string& name, const std::string& value) {
    return value == "none" ? std::nullopt : std::optional(parse(name, value));
  };
}

std::vector<int64_t> parse_rising(const std::string& name, const std::string& text) {
  std::vector<int64_t> lengths;
  for (const std::string& word : comma_separated(text)) {
    const int64_t least = lengths.empty() ? 1 : lengths.back() + 1;
    lengths.push_back(parse_whole(name, word, fmt::format("rising whole numbers, here >= {}", least), least));
  }
  return lengths;
}

// Returns the row of a list of choices, separated by commas. If `none` is not null, this word stands for an empty list.
template <class Value, class Choices>
FlagRow list(FlagText text, Member<std::vector<Value>> member, const Choices& choices, const char* none = nullptr) {
  return row_of(
      std::move(text), member,
      [=, &choices](const std::string& name, const std::string& value) {
        std::vector<Value> values;
        if (!none || value != none)
          for (const std::string& word : comma_separated(value)) values.push_back(choice_of(name, choices, word));
        return values;
      },
      [=, &choices](const std::vector<Value>& values) {
        std::vector<std::string> words;
        for (const Value value : values) words.push_back(word_of(choices, value));
        return words.empty() && none ? none : value_text(words);
      });
}

FlagRow loader_threads(Member<std::optional<int64_t>> member) {
  return row_of(
      {"--loader-threads", "N",
       "threads that fill minibatches ahead; 0: the step fills its own; auto: as cores are left"},
      member,
      [](const std::string& name, const std::string& value) {
        return value == "auto" ? std::nullopt : std::optional(parse_whole(name, value, "auto, or 0 to 256", 0, 257));
      },
      [](const std::optional<int64_t>& threads) { return threads ? value_text(threads) : "auto"; });
}

FlagRow threads(Member<int64_t> member) {
  return row_of({"--threads", "N", "threads; 0: one a core, of those that this process may use"}, member,
                [](const std::string& name, const std::string& value) {
                  const std::string expected = fmt::format("a whole number in [0, {}]", kMostThreads);
                  return parse_whole(name, value, expected, 0, kMostThreads + 1);
                });
}

FlagRow bucket_mb(Member<double> member) {
  return row_of(
      {"--bucket-mb", "MB",
       "part of the gradient that processes sum together while the rest is computed, in units of 1e6 bytes; the same "
       "bits; auto: the least step that a cost model finds"},
      member,
      [](const std::string& name, const std::string& value) {
        if (value == "auto") return 0.0;
        const double megabytes = parse_real(name, value, "auto, or a number > 0", 1e6);
        if (megabytes == 0) refuse_value(name, "auto, or a number > 0", value);
        return megabytes;
      },
      [](double megabytes) { return megabytes == 0 ? "auto" : value_text(megabytes); });
}

FlagRow network_row(FlagText text, Member<std::optional<Network>> member) {
  return row_of(
      std::move(text), member,
      [](const std::string& name, const std::string& value) { return parse_network(value, name); }, network_words);
}

FlagRow print_schedule(Member<std::string> member) {
  return row_of({"--print-schedule", "WHERE",
                 "print the learning rate over the run and stop, without compiling: table; or FILE.svg, which it is "
                 "drawn into too"},
                member, [](const std::string& name, const std::string& value) {
                  if (value != kTableAlone && !value.ends_with(".svg")) refuse_value(name, "table or FILE.svg", value);
                  return value;
                });
}

// Reads "worker", "ghost(M)" or "sync(K)". Throws UsageError for other texts.
NormGroup group_of(const std::string& flag, const std::string& text, const std::string& expected) {
  for (const auto& [kind, start] : {std::pair{NormGroup::Kind::ghost, "ghost("}, {NormGroup::Kind::sync, "sync("}})
    if (text.starts_with(start) && text.ends_with(")")) {
      const size_t from = std::string_view(start).size();
      try {
        return {kind, parse_whole(flag, text.substr(from, text.size() - from - 1), expected, 1)};
      } catch (const UsageError&) {
        refuse_value(flag, expected, text);
      }
    }
  if (text != "worker") refuse_value(flag, expected, text);
  return {};
}

FlagRow batch_norm(Member<NormGroup> member) {
  return row_of(
      {"--batch-norm", "GROUP",
       "samples that share statistics: worker, its own; ghost(M), groups of M that workers are cut into; sync(K), K "
       "virtual workers' as one"},
      member,
      [](const std::string& name, const std::string& value) {
        return group_of(name, value, "worker, ghost(M) or sync(K) with " + whole_expectation(1));
      },
      [](const NormGroup& group) { return to_string(group); });
}

FlagRow recipe_option(const RecipeOption& option) {
  const std::string flag = "--" + option.name;
  if (option.is_switch)
    return {{flag, "", option.doc},
            [=](RunConfig& config, const std::string&) { config.data.options.set(option.name, 1); },
            [=](const RunConfig& config) { return config.data.options.real(option.name) == 0 ? "false" : "true"; }};
  if (!option.words.empty())
    return {{flag, "WORD", with_words(option.doc, option.words)},
            [=](RunConfig& config, const std::string& text) {
              check_choice(flag, text, option.words);
              config.data.options.set(option.name, text);
            },
            [=](const RunConfig& config) { return config.data.options.word(option.name); }};
  return {{flag, option.whole ? "N" : "X", fmt::format("{}: {}", option.doc, option.expectation())},
          [=](RunConfig& config, const std::string& text) {
            const double value = parse_finite(flag, text, option.expectation());
            if (!option.allows(value)) refuse_value(flag, option.expectation(), text);
            config.data.options.set(option.name, value);
          },
          [=](const RunConfig& config) { return fmt::format("{}", config.data.options.real(option.name)); }};
}

std::function<bool(const RunConfig&)> augments_by(AugmentKind kind) {
  return [=](const RunConfig& config) {
    return std::find(config.data.augment.begin(), config.data.augment.end(), kind) != config.data.augment.end();
  };
}

// Returns whether several processes share a step: those of --processes, or those that a launcher has started.
bool has_processes(const RunConfig& config) {
  return config.machine.processes > 1 || RuntimeOptions::from_environment().launcher.processes != 1;
}

bool is_local(const RunConfig& config) { return config.sync.policy == Policy::local; }
bool is_backup(const RunConfig& config) { return config.sync.policy == Policy::backup; }
bool is_ordered(const RunConfig& config) { return config.sync.is_ordered(); }
bool is_applied_alone(const RunConfig& config) { return is_ordered(config) && !is_backup(config); }

bool has_workers(const RunConfig& config) {
  const bool has_groups =
      config.batch.batch_norm.kind == NormGroup::Kind::ghost && config.batch.batch_norm.size < config.batch.minibatch;
  return has_groups || (config.batch.per_worker > 0 && config.batch.per_worker < config.batch.minibatch) ||
         has_processes(config);
}

// Returns the flags that all recipes have, in the order of the help.
std::vector<FlagRow> stable_flags(const Recipe& recipe) {
  std::vector<FlagRow> rows;
#define KB_FLAG(place, ...)                                                                       \
  {                                                                                               \
    using Value = std::remove_reference_t<decltype((std::declval<RunConfig&>().place))>;          \
    const Member<Value> member{#place, [](RunConfig& config) -> Value& { return config.place; }}; \
    rows.push_back(__VA_ARGS__);                                                                  \
    rows.back().member = member.path;                                                             \
  }
#define KB_ROWS(...) \
  for (FlagRow & row : __VA_ARGS__) rows.push_back(std::move(row));
#include "recipes/config/flags.inc"
  return rows;
}

[[noreturn]] void refuse_extra(const std::string& word, const std::vector<FlagForm>& flags) {
  if (!word.starts_with("-")) throw UsageError(fmt::format("'{}' is not expected here: flags begin with --", word));
  std::vector<std::string> names = {"--help"};
  for (const FlagForm& flag : flags) names.push_back(flag.name);
  refuse_unknown(word.substr(0, word.find('=')), names);
}

}  // namespace

void refuse_without_effect(const FlagRow& row, const std::vector<FlagRow>& table, const RunConfig& config) {
  const auto other =
      std::find_if(table.begin(), table.end(), [&](const FlagRow& r) { return r.text.name == row.need.flag; });
  ensure(other != table.end(), "a flag needs one that is not in the table");
  throw UsageError(fmt::format("{}: it has no effect here\n  expected: {} beside it\n  got:      {} {}", row.text.name,
                               row.need.expected, row.need.flag, other->print(config)));
}

std::vector<FlagRow> flag_table(const Recipe& recipe) {
  std::vector<FlagRow> table;
  for (const RecipeOption& option : recipe.options) table.push_back(recipe_option(option).common());
  if (!table.empty()) table.front().heading = "This recipe";
  for (FlagRow& row : stable_flags(recipe))
    if ((!recipe.task || !row.is_of_images) && (recipe.is_ragged || !row.is_of_sequences))
      table.push_back(std::move(row));
  return table;
}

FlagRow find_flag(const Recipe& recipe, const std::string& name) {
  if (is_group_flag(recipe, name)) return group_flag_row(recipe, name);
  std::vector<std::string> names;
  for (FlagRow& row : flag_table(recipe)) {
    if (row.text.name == name) return std::move(row);
    names.push_back(row.text.name);
  }
  refuse_unknown(name, names);
}

std::vector<std::string> words_without(const std::vector<ToolSwitch>& switches, const std::vector<std::string>& words) {
  std::vector<std::string> left;
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t equals = words[i].starts_with("--") ? words[i].find('=') : std::string::npos;
    const std::string name = words[i].substr(0, equals);
    const auto item =
        std::find_if(switches.begin(), switches.end(), [&](const ToolSwitch& s) { return s.text.name == name; });
    if (item != switches.end()) {
      i += !item->text.value.empty() && equals == std::string::npos;
      continue;
    }
    left.push_back(name);
    if (equals != std::string::npos) left.push_back(words[i].substr(equals + 1));
  }
  return left;
}

RunConfig default_config(const Recipe& recipe) { return preset_config(recipe, GivenFlags()); }

namespace {

// Returns the recipe's flags without those whose names the tool's own flags have.
std::vector<FlagRow> table_beside(const Recipe& recipe, const std::vector<ToolSwitch>& switches) {
  std::vector<FlagRow> table = flag_table(recipe);
  for (const ToolSwitch& item : switches)
    std::erase_if(table, [&](const FlagRow& row) { return row.text.name == item.text.name; });
  return table;
}

void set_switch(const ToolSwitch& item, const std::vector<std::string>& values) {
  const std::string &name = item.text.name, &value = values.back();
  if (bool* const* set = std::get_if<bool*>(&item.variable)) **set = true;
  if (int64_t* const* whole = std::get_if<int64_t*>(&item.variable))
    **whole = parse_whole(name, value, whole_expectation(item.least), item.least);
  if (double* const* number = std::get_if<double*>(&item.variable))
    **number = parse_real(name, value, "a number from 0 on", 1e9);
  if (std::string* const* word = std::get_if<std::string*>(&item.variable)) **word = value;
  if (std::vector<std::string>* const* words = std::get_if<std::vector<std::string>*>(&item.variable)) **words = values;
}

FlagForm form_of(const ToolSwitch& item) {
  return {item.text.name, !std::holds_alternative<bool*>(item.variable),
          std::holds_alternative<std::vector<std::string>*>(item.variable)};
}

// Returns the recipe's flags, those of its table and of groups, with their values.
GivenFlags given_flags(const std::vector<FlagRow>& table, const std::vector<std::string>& of_groups,
                       const SplitWords& split) {
  std::vector<std::string> names = of_groups;
  for (const FlagRow& row : table) names.push_back(row.text.name);
  GivenFlags given;
  for (const std::string& name : names)
    if (const auto at = split.values.find(name); at != split.values.end()) given[name] = at->second.back();
  return given;
}

}  // namespace

std::string flags_help(const Recipe& recipe, const std::string& usage, HelpScope scope,
                       const std::vector<ToolSwitch>& switches, const GivenFlags& given) {
  const RunConfig defaults = preset_config(recipe, given);
  std::vector<HelpRow> rows;
  for (const ToolSwitch& item : switches) rows.push_back({rows.empty() ? "This tool" : "", item.text});
  std::string heading;  // last heading that no row in the text has yet
  for (const FlagRow& row : table_beside(recipe, switches)) {
    if (!row.heading.empty()) heading = row.heading;
    if (scope != HelpScope::all && !row.is_common) continue;
    FlagText text = row.text;
    if (scope != HelpScope::all) text.doc = first_idea(text.doc);
    rows.push_back({heading, text, text.value.empty() ? "" : row.print(defaults)});
    heading.clear();
  }
  rows.push_back({"", {"--help", "", "this text"}});
  if (scope != HelpScope::all) rows.push_back({"", {"--help all", "", "every flag"}});
  std::string title = fmt::format("{}: {}\n{}\n\nusage: {} [flags] (defaults stand in brackets)", recipe.name,
                                  recipe.summary, recipe.paper, usage);
  for (const std::string& note : preset_notes(recipe, defaults)) title += "\n" + note;
  return help_text(title, rows, scope != HelpScope::all);
}

std::optional<RunConfig> parse_flags(const Recipe& recipe, const std::string& usage,
                                     const std::vector<std::string>& arguments, const std::vector<ToolSwitch>& switches,
                                     const RunConfig* base) {
  const std::vector<FlagRow> table = table_beside(recipe, switches);
  std::vector<FlagForm> forms;
  for (const ToolSwitch& item : switches) forms.push_back(form_of(item));
  for (const FlagRow& row : table) forms.push_back({row.text.name, !row.text.value.empty()});
  const std::vector<std::string> of_groups = group_flags_in(recipe, arguments);
  for (const std::string& flag : of_groups) forms.push_back({flag});
  const SplitWords split = split_words(forms, arguments);
  for (const ToolSwitch& item : switches)
    if (const auto values = split.values.find(item.text.name); values != split.values.end())
      set_switch(item, values->second);
  const GivenFlags given = given_flags(table, of_groups, split);
  if (split.help != HelpScope::none) {
    fmt::print("{}", flags_help(recipe, usage, split.help, switches, given));
    return std::nullopt;
  }
  RunConfig config = base ? *base : preset_config(recipe, given);
  const RunConfig before = config;
  read_flags(table, given, config);
  if (!given.contains("--groups")) follow_flags(recipe, before, config);
  read_group_flags(recipe, given, config);
  if (!split.others.empty()) refuse_extra(split.others.front(), forms);
  // When a run is resumed or branched, or its flags come from a manifest, they are read again with that run's flags as
  // `base`; only then can it be judged whether the flags go together.
  const bool has_own = (config.resume.run.empty() || config.resume.run == kResumeAuto) && config.resume.branch.empty();
  const bool is_whole = base || (has_own && config.resume.config.empty());
  if (is_whole) check_learning_flags(config, [&](const std::string& flag) { return given.contains(flag); });
  for (const FlagRow& row : table)
    if (is_whole && given.contains(row.text.name) && !row.has_effect(config)) refuse_without_effect(row, table, config);
  return config;
}

std::vector<std::string> flag_words(const Recipe& recipe, const RunConfig& config) {
  std::vector<std::string> words;
  for (const FlagRow& row : flag_table(recipe)) {
    std::string value = row.print(config);
    if (row.effect == FlagEffect::call || !row.has_effect(config) || value.empty() ||
        (row.text.value.empty() && value == "false"))
      continue;
    words.push_back(row.text.name);
    if (!row.text.value.empty()) words.push_back(value);
  }
  return words;
}

std::string shared_flags(const Recipe& recipe, const RunConfig& config) {
  std::string text;
  for (const FlagRow& row : flag_table(recipe))
    if (!row.differs) text += fmt::format("{} {}\n", row.text.name, row.print(config));
  return text;
}

std::vector<FlagValue> flag_values(const Recipe& recipe, const RunConfig& config) {
  std::vector<FlagValue> values;
  for (const FlagRow& row : flag_table(recipe))
    values.push_back({row.text.name.substr(2), row.print(config), row.effect});
  return values;
}

}  // namespace kb
