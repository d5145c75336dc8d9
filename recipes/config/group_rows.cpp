#include "recipes/config/group_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "recipes/config/command_line.h"
#include "recipes/config/learning.h"
#include "recipes/config/learning_rows.h"
#include "recipes/config/parameter_division.h"

namespace kb {
namespace {

constexpr const char *kName = "--groups", *kOptimizer = "--optimizer";

// Returns the rows of the flags that a group may have of its own.
std::vector<FlagRow> learning_rows(const Recipe& recipe) {
  std::vector<FlagRow> rows = flag_table(recipe);
  std::erase_if(rows, [](const FlagRow& row) {
    return !row.member.starts_with("learning.") || row.member == "learning.label_smoothing";
  });
  return rows;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::string& word : split_at(text, ' '))
    if (!word.empty()) words.push_back(std::move(word));
  return words;
}

// Sets the optimizer of a group, or freezes it. What belongs to the optimizer is as with use_optimizer(), with the
// run's own optimizer in place of the recipe's.
void take_optimizer(const Recipe& recipe, Learning& learning, const std::string& name) {
  if (name == kFrozen) return void(learning.optimizer = name);
  std::vector<std::string> names = names_of(offered_optimizers(recipe.optimizers));
  names.emplace_back(kFrozen);
  check_choice(kOptimizer, name, names);
  if (name == learning.optimizer) return;
  Defaults run = recipe.defaults;
  run.optimizer = learning.optimizer;
  run.hyper = learning.hyper;
  run.lr = learning.lr;
  run.base_minibatch = learning.base_minibatch;
  run.schedule = learning.schedule;
  use_optimizer(run, recipe.optimizers, learning, name);
}

// Returns `run`, whose learning is that of a group, after the group's flags are read.
RunConfig read_learning(const Recipe& recipe, RunConfig run, GivenFlags given) {
  const std::vector<FlagRow> rows = learning_rows(recipe);
  const GivenFlags all = given;
  if (const auto optimizer = given.extract(kOptimizer)) take_optimizer(recipe, run.learning, optimizer.mapped());
  if (is_frozen(run.learning) && !given.empty())
    throw UsageError(fmt::format("{}: it has no effect here\n  expected: {} of a rule beside it\n  got:      {} {}",
                                 given.begin()->first, kOptimizer, kOptimizer, kFrozen));
  read_flags(rows, given, run);
  check_learning_flags(run, [&](const std::string& flag) { return all.contains(flag); });
  for (const FlagRow& row : rows)
    if (given.contains(row.text.name) && !row.has_effect(run)) refuse_without_effect(row, rows, run);
  return run;
}

// Returns the flags of the words of a group in --groups.
GivenFlags flags_in_words(const Recipe& recipe, const std::string& group, const std::vector<std::string>& words) {
  std::vector<FlagForm> forms;
  for (const FlagRow& row : learning_rows(recipe)) forms.push_back({row.text.name, !row.text.value.empty()});
  const SplitWords split = split_words(forms, words);
  if (!split.others.empty())
    throw UsageError(fmt::format("{}: expected a name, then flags of optimizer and learning rate, got '{}' for {}",
                                 kName, split.others.front(), group));
  GivenFlags given;
  for (const auto& [name, values] : split.values) given[name] = values.back();
  return given;
}

// Returns the flags by which the group's learning differs from that of the run.
std::string print_learning(const Recipe& recipe, const RunConfig& run, const Learning& learning) {
  if (is_frozen(learning)) return fmt::format(" {} {}", kOptimizer, kFrozen);
  RunConfig common = run, own = run;
  own.learning = learning;
  std::string text;
  // Another optimizer sets defaults of other flags: only flags that differ from these defaults are printed.
  take_optimizer(recipe, common.learning, learning.optimizer);
  for (const FlagRow& row : learning_rows(recipe)) {
    const std::string value = row.print(own);
    const bool differs =
        row.text.name == kOptimizer ? learning.optimizer != run.learning.optimizer : value != row.print(common);
    if (differs && !value.empty() && row.has_effect(own)) text += fmt::format(" {} {}", row.text.name, value);
  }
  return text;
}

// Returns the group's learning in `config`; adds it, as that of the run, if it is missing.
Learning& learning_of(RunConfig& config, const std::string& group) {
  const auto at = std::ranges::find(config.group_learning, group, &GroupLearning::group);
  return at == config.group_learning.end() ? config.group_learning.emplace_back(group, config.learning).learning
                                           : at->learning;
}

struct GroupFlag {
  std::string flag, group;  // "--lr", "matrices"
};

// Splits a word such as "--lr.matrices" or "--lr.matrices=0.1". Returns no flag if the word is none of a group.
GroupFlag split_flag(const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const size_t dot = name.find('.');
  if (!name.starts_with("--") || dot == std::string::npos || dot + 1 == name.size()) return {};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

void check_group_name(const std::string& flag, const std::string& group) {
  if (group.find_first_of(" ;:{}") != std::string::npos)
    refuse_value(flag, "a group's name behind the dot, without any of ' ;:{}'", group);
}

// Returns the message about a flag with the group's name behind the flag.
std::string with_group(const std::string& message, const std::string& group) {
  const size_t end = message.find_first_of(":, ");
  return message.starts_with("--") && end != std::string::npos
             ? message.substr(0, end) + "." + group + message.substr(end)
             : message;
}

}  // namespace

void follow_flags(const Recipe& recipe, const RunConfig& before, RunConfig& config) {
  const FlagRow row = groups_row(recipe);
  if (const std::string given = row.print(before); !given.empty()) row.read(config, given);
}

bool is_group_flag(const Recipe& recipe, const std::string& flag) {
  const std::string name = split_flag(flag).flag;
  if (name.empty()) return false;
  const std::vector<FlagRow> rows = learning_rows(recipe);
  return std::ranges::any_of(rows, [&](const FlagRow& row) { return row.text.name == name; });
}

std::vector<std::string> group_flags_in(const Recipe& recipe, const std::vector<std::string>& words) {
  std::set<std::string> flags;
  for (const std::string& word : words)
    if (const auto& [flag, group] = split_flag(word); is_group_flag(recipe, word)) {
      check_group_name(flag, group);
      flags.insert(fmt::format("{}.{}", flag, group));
    }
  return {flags.begin(), flags.end()};
}

FlagRow group_flag_row(const Recipe& recipe, const std::string& name) {
  const auto [flag, group] = split_flag(name);
  std::vector<FlagRow> rows = learning_rows(recipe);
  FlagRow own = std::move(*std::ranges::find(rows, flag, [](const FlagRow& row) { return row.text.name; }));
  FlagRow row = {{name, own.text.value, fmt::format("{}; for the group {}", own.text.doc, group)},
                 [&recipe, name](RunConfig& config, const std::string& value) {
                   read_group_flags(recipe, {{name, value}}, config);
                 },
                 [group, print = own.print](const RunConfig& config) {
                   RunConfig of_group = config;
                   of_group.learning = learning_of(of_group, group);
                   return print(of_group);
                 }};
  row.member = "group_learning";
  return row;
}

void read_group_flags(const Recipe& recipe, const GivenFlags& given, RunConfig& config) {
  std::map<std::string, GivenFlags> by_group;
  for (const auto& [name, value] : given)
    if (const auto [flag, group] = split_flag(name); !flag.empty()) by_group[group][flag] = value;
  for (const auto& [group, flags] : by_group) {
    check_group_name(flags.begin()->first, group);
    Learning& learning = learning_of(config, group);
    if (is_frozen(learning) && flags.contains(kOptimizer)) learning = config.learning;
    RunConfig of_group = config;
    of_group.learning = learning;
    try {
      learning = read_learning(recipe, std::move(of_group), flags).learning;
    } catch (const UsageError& error) {
      throw UsageError(with_group(error.what(), group));
    }
  }
}

FlagRow groups_row(const Recipe& recipe) {
  return {
      {kName, "TEXT",
       fmt::format("learning of groups of parameters: each name with its flags, as 'matrices --optimizer muon; biases "
                   "--lr 1e-4', or each flag with the name behind a dot, --lr.biases 1e-4; what is not given is as for "
                   "all; a group is a loss's, or, if no loss has one, {} or a scope of the model; --optimizer.NAME {} "
                   "freezes it",
                   fmt::join(built_in_groups(), ", "), kFrozen)},
      [&recipe](RunConfig& config, const std::string& value) {
        config.group_learning.clear();
        for (const std::string& part : split_at(value, ';')) {
          std::vector<std::string> words = words_of(part);
          if (words.empty() || words.front().starts_with("-"))
            refuse_value(kName, "NAME FLAG VALUE ...; NAME ...", value);
          const std::string group = words.front();
          words.erase(words.begin());
          config.group_learning.push_back(
              {group, read_learning(recipe, config, flags_in_words(recipe, group, words)).learning});
        }
      },
      [&recipe](const RunConfig& config) {
        std::string text;
        for (const auto& [group, learning] : config.group_learning)
          text += fmt::format("{}{}{}", text.empty() ? "" : "; ", group, print_learning(recipe, config, learning));
        return text;
      }};
}

}  // namespace kb
