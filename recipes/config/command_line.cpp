#include "recipes/config/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "recipes/task/suggest.h"

namespace kb {
namespace {

// Names that other programs use for flags that Kilobatch has under another name.
const std::map<std::string, std::string> kElsewhere = {
    {"--batch-size", "--minibatch"},
    {"--batch", "--minibatch"},
    {"--micro-batch-size", "--per-worker"},
    {"--gradient-accumulation-steps", "--per-worker"},
    {"--accumulate-grad-batches", "--per-worker"},
    {"--accumulation-steps", "--per-worker"},
    {"--grad-accum", "--per-worker"},
    {"--repeat", "--seeds"},
    {"--sync-bn", "--batch-norm"},
    {"--learning-rate", "--lr"},
    {"--opt", "--optimizer"},
    {"--wd", "--weight-decay"},
    {"--lr-scheduler", "--schedule"},
    {"--lr-schedule", "--schedule"},
    {"--scheduler", "--schedule"},
    {"--output-dir", "--out"},
    {"--log-dir", "--out"},
    {"--logdir", "--out"},
    {"--save-dir", "--out"},
    {"--data-dir", "--data"},
    {"--data-path", "--data"},
    {"--amp", "--precision"},
    {"--fp16", "--precision"},
    {"--bf16", "--precision"},
    {"--dtype", "--precision"},
    {"--gpu", "--device"},
    {"--cuda", "--device"},
    {"--world-size", "--processes"},
    {"--nproc-per-node", "--processes"},
    {"--num-workers", "--loader-threads"},
    {"--pretrained", "--init"},
    {"--resume-from-checkpoint", "--resume"},
    {"--max-steps", "--steps"},
    {"--max-epochs", "--epochs"},
    {"--model-ema", "--ema"},
    {"--gradient-clipping", "--clip-norm"},
    {"--grad-clip", "--clip-norm"},
    {"--max-grad-norm", "--clip-norm"},
    {"--val-split", "--validation"},
    {"--detect-anomaly", "--check-finite"},
};

// Returns the nearest of the names, without their dashes: these would count as letters that agree.
std::string nearest_flag(const std::string& flag, const std::vector<std::string>& names) {
  const auto bare = [](const std::string& name) {
    return name.substr(std::min(name.find_first_not_of('-'), name.size()));
  };
  std::vector<std::string> words;
  for (const std::string& name : names) words.push_back(bare(name));
  const std::string guess = nearest(bare(flag), words);
  return guess.empty() ? guess
                       : names[static_cast<size_t>(std::find(words.begin(), words.end(), guess) - words.begin())];
}

// Removes --help, and an "all" that follows it, from the words. Returns which help they ask for.
HelpScope take_help(std::vector<std::string>& words) {
  const auto at =
      std::find_if(words.begin(), words.end(), [](const auto& word) { return word == "--help" || word == "-h"; });
  if (at == words.end()) return HelpScope::none;
  const bool all = at + 1 != words.end() && at[1] == "all";
  words.erase(at, at + 1 + all);
  return all ? HelpScope::all : HelpScope::common;
}

std::vector<std::string> values_of(const CLI::Option& option, const FlagForm& flag) {
  const std::vector<std::string>& given = option.results();
  if (flag.takes_value && !flag.repeats && given.size() > 1)
    throw UsageError(
        fmt::format("{}: expected once, got {} of them: {}", flag.name, given.size(), fmt::join(given, ", ")));
  if (flag.takes_value) return given;
  for (const std::string& value : given)
    if (value != "true") throw UsageError(fmt::format("{}: expected no value, got '{}'", flag.name, value));
  return {""};
}

}  // namespace

SplitWords split_words(const std::vector<FlagForm>& flags, std::vector<std::string> words) {
  SplitWords split;
  split.help = take_help(words);
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  for (const FlagForm& flag : flags) {
    if (flag.takes_value)
      app.add_option(flag.name)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    else
      app.add_flag(flag.name);
  }
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes the words in reverse order
    app.parse(std::move(words));
  } catch (const CLI::ArgumentMismatch& error) {  // its text begins with the flag: "--lr: 1 required ..."
    const std::string text = error.what();
    throw UsageError(text.substr(0, text.find(':')) + ": expected a value, got none");
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  for (const FlagForm& flag : flags)
    if (const CLI::Option* option = app.get_option(flag.name); option->count() > 0)
      split.values[flag.name] = values_of(*option, flag);
  split.others = app.remaining();
  return split;
}

void refuse_unknown(const std::string& flag, const std::vector<std::string>& names) {
  std::string dashed = flag;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  const auto usual = kElsewhere.find(dashed);
  const bool is_known =
      usual != kElsewhere.end() && std::find(names.begin(), names.end(), usual->second) != names.end();
  const std::string guess = is_known ? usual->second : nearest_flag(flag, names);
  throw UsageError(fmt::format("there is no flag '{}'{}", flag,
                               guess.empty() ? "; --help all lists them" : fmt::format("; did you mean '{}'?", guess)));
}

CommandLine::CommandLine(std::string doc, std::string usage) : doc_(std::move(doc)), usage_(std::move(usage)) {}

CommandLine& CommandLine::add(Argument argument) {
  arguments_.push_back(std::move(argument));
  return *this;
}

CommandLine& CommandLine::flag(const std::string& name, bool& variable, const std::string& doc) {
  return add({{name, "", doc}, "", [&variable](const std::string&) { variable = true; }});
}

CommandLine& CommandLine::text(FlagText text, std::string& variable) {
  return add({std::move(text), variable, [&variable](const std::string& value) { variable = value; }});
}

CommandLine& CommandLine::text(FlagText text, std::filesystem::path& variable) {
  return add({std::move(text), variable.string(), [&variable](const std::string& value) { variable = value; }});
}

CommandLine& CommandLine::texts(FlagText text, std::vector<std::string>& variable) {
  return add({std::move(text), "", [&variable](const std::string& value) { variable.push_back(value); }, true});
}

CommandLine& CommandLine::choice(FlagText text, std::string& variable, std::vector<std::string> choices) {
  const std::string name = text.name;
  return add({std::move(text), variable, [=, &variable](const std::string& value) {
                check_choice(name, value, choices);
                variable = value;
              }});
}

CommandLine& CommandLine::positive(FlagText text, double& variable, double most) {
  return add_positive(std::move(text), fmt::to_string(variable), most, [&variable](double x) { variable = x; });
}

CommandLine& CommandLine::positive(FlagText text, std::optional<double>& variable, double most) {
  return add_positive(std::move(text), "", most, [&variable](double x) { variable = x; });
}

CommandLine& CommandLine::add_whole(FlagText text, std::string fallback, int64_t least, int64_t most,
                                    std::function<void(int64_t)> set) {
  const std::string expected =
      most == kWholeBelow - 1 ? whole_expectation(least) : fmt::format("a whole number in [{}, {}]", least, most);
  const std::string name = text.name;
  return add({std::move(text), std::move(fallback),
              [=](const std::string& value) { set(parse_whole(name, value, expected, least, most + 1)); }});
}

CommandLine& CommandLine::add_positive(FlagText text, std::string fallback, double most,
                                       std::function<void(double)> set) {
  const std::string expected = fmt::format("a number in (0, {}]", most), name = text.name;
  return add({std::move(text), std::move(fallback), [=](const std::string& value) {
                const double number = parse_finite(name, value, expected);
                if (number <= 0 || number > most) refuse_value(name, expected, value);
                set(number);
              }});
}

CommandLine& CommandLine::required() {
  arguments_.back().is_required = true;
  return *this;
}

CommandLine& CommandLine::excludes(std::string flag) {
  arguments_.back().excluded = std::move(flag);
  return *this;
}

void CommandLine::refuse(const std::string& fault) const {
  throw UsageError(fmt::format("{}; usage: {}", fault, usage_));
}

std::vector<std::string> CommandLine::names() const {
  std::vector<std::string> names = {"--help"};
  for (const Argument& argument : arguments_)
    if (argument.is_flag()) names.push_back(argument.text.name);
  return names;
}

void CommandLine::read_flags(const SplitWords& split) const {
  for (const Argument& argument : arguments_) {
    const std::string& name = argument.text.name;
    if (!argument.is_flag()) continue;
    const auto given = split.values.find(name);
    if (given == split.values.end()) {
      if (argument.is_required) refuse(fmt::format("{} is not given", name));
      continue;
    }
    if (split.values.contains(argument.excluded))
      refuse(fmt::format("{}: expected no {} beside it", name, argument.excluded));
    for (const std::string& value : given->second) argument.read(value);
  }
}

void CommandLine::read_places(const std::vector<std::string>& words) const {
  auto next = words.begin();
  for (const Argument& argument : arguments_) {
    if (argument.is_flag()) continue;
    if (argument.is_required && next == words.end()) refuse(fmt::format("{} is not given", argument.text.name));
    const auto end = argument.repeats ? words.end() : next + (next != words.end());
    while (next != end) argument.read(*next++);
  }
  if (next != words.end()) refuse(fmt::format("'{}' is not expected here", *next));
}

bool CommandLine::parse(std::vector<std::string> words) const {
  const auto mark = std::find(words.begin(), words.end(), "--");  // words that follow it are not flags of this program
  const std::vector<std::string> behind(mark == words.end() ? mark : mark + 1, words.end());
  words.erase(mark, words.end());
  std::vector<FlagForm> forms;
  for (const Argument& argument : arguments_)
    if (argument.is_flag()) forms.push_back({argument.text.name, !argument.text.value.empty(), argument.repeats});
  SplitWords split = split_words(forms, std::move(words));
  if (split.help != HelpScope::none) {
    fmt::print("{}", help());
    return false;
  }
  for (const std::string& word : split.others)
    if (word.starts_with("-") && word != "-") refuse_unknown(word.substr(0, word.find('=')), names());
  read_flags(split);
  split.others.insert(split.others.end(), behind.begin(), behind.end());
  read_places(split.others);
  return true;
}

std::string CommandLine::help() const {
  std::vector<HelpRow> places, flags;
  bool has_defaults = false;
  for (const Argument& argument : arguments_) {
    (argument.is_flag() ? flags : places).push_back({"", argument.text, argument.fallback});
    has_defaults = has_defaults || !argument.fallback.empty();
  }
  flags.push_back({"", {"--help", "", "this text"}});
  flags.front().heading = "Flags";
  if (!places.empty()) places.front().heading = "Arguments";
  places.insert(places.end(), flags.begin(), flags.end());
  return help_text(fmt::format("{}\n\nusage: {}{}", doc_, usage_, has_defaults ? " (defaults stand in brackets)" : ""),
                   places);
}

}  // namespace kb
