#include "recipes/config/group_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "recipes/config/command_line.h"
#include "recipes/config/learning.h"
#include "recipes/config/learning_rows.h"
#include "recipes/config/preset.h"

namespace kb {
namespace {

constexpr const char* kName = "--groups";

// Returns the rows of the flags that a group may have of its own.
std::vector<FlagRow> learning_rows(const Recipe& recipe) {
  std::vector<FlagRow> rows = flag_table(recipe);
  std::erase_if(rows, [](const FlagRow& row) {
    return !row.member.starts_with("learning.") || row.member == "learning.label_smoothing";
  });
  return rows;
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(std::move(part));
  return parts;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::string& word : split_at(text, ' '))
    if (!word.empty()) words.push_back(std::move(word));
  return words;
}

// Returns `run` with its learning replaced by that of the group. `words` are the group's flags and their values.
RunConfig read_learning(const Recipe& recipe, RunConfig run, const std::string& group,
                        const std::vector<std::string>& words) {
  const std::vector<FlagRow> rows = learning_rows(recipe);
  std::vector<FlagForm> forms;
  for (const FlagRow& row : rows) forms.push_back({row.text.name, !row.text.value.empty()});
  const SplitWords split = split_words(forms, words);
  if (!split.others.empty())
    throw UsageError(fmt::format("{}: expected a name, then flags of optimizer and learning rate, got '{}' for {}",
                                 kName, split.others.front(), group));
  GivenFlags given;
  for (const auto& [name, values] : split.values) given[name] = values.back();
  read_flags(rows, given, run);
  check_learning_flags(run, [&](const std::string& flag) { return given.contains(flag); });
  for (const FlagRow& row : rows)
    if (given.contains(row.text.name) && !row.has_effect(run)) refuse_without_effect(row, rows, run);
  return run;
}

// Returns the flags by which the group's learning differs from that of the run.
std::string print_learning(const Recipe& recipe, const RunConfig& run, const Learning& learning) {
  RunConfig common = run, own = run;
  own.learning = learning;
  std::string text;
  // Another optimizer sets defaults of other flags: only flags that differ from these defaults are printed.
  if (learning.optimizer != run.learning.optimizer)
    use_optimizer(recipe.defaults, recipe.optimizers, common.learning, learning.optimizer);
  for (const FlagRow& row : learning_rows(recipe)) {
    const std::string value = row.print(own);
    const bool differs =
        row.member == "learning.optimizer" ? learning.optimizer != run.learning.optimizer : value != row.print(common);
    if (differs && !value.empty() && row.has_effect(own)) text += fmt::format(" {} {}", row.text.name, value);
  }
  return text;
}

}  // namespace

void follow_flags(const Recipe& recipe, const RunConfig& before, RunConfig& config) {
  const FlagRow row = groups_row(recipe);
  if (const std::string given = row.print(before); !given.empty()) row.read(config, given);
}

FlagRow groups_row(const Recipe& recipe) {
  return {
      {kName, "TEXT",
       "learning of groups of parameters, for a model with several losses: each name with its flags, as 'critic --lr "
       "1e-4 --optimizer adam; generator --lr 2e-4'; what is not given is as for all"},
      [&recipe](RunConfig& config, const std::string& value) {
        config.group_learning.clear();
        for (const std::string& part : split_at(value, ';')) {
          std::vector<std::string> words = words_of(part);
          if (words.empty() || words.front().starts_with("-"))
            refuse_value(kName, "NAME FLAG VALUE ...; NAME ...", value);
          const std::string group = words.front();
          words.erase(words.begin());
          config.group_learning.push_back({group, read_learning(recipe, config, group, words).learning});
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
