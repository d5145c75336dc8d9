// The command line of every recipe: one table of flags, with their defaults and units, turns its words into a RunConfig
// and back. Tools add a few flags of their own.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/flag_rows.h"

namespace kb {

// As the recipe has them; --data of images from the environment.
RunConfig default_config(const Recipe& recipe);

// A flag of a tool's own: a switch, a whole number >= 1, a word, or one that may be given several times. It stands in
// place of a recipe's flag of its name.
struct ToolSwitch {
  FlagText text;
  bool* set = nullptr;
  int64_t* number = nullptr;
  std::string* word = nullptr;
  std::vector<std::string>* words = nullptr;
};

// The flags from a command line (without the program's name); nothing when --help was asked for and
// printed. Throws
// UsageError with the nearest right flag or value, and for a flag that has no effect beside the others. `usage` stands
// behind "usage: ". What is not given is as in `base`.
std::optional<RunConfig> parse_flags(const Recipe& recipe, const std::string& usage,
                                     const std::vector<std::string>& arguments,
                                     const std::vector<ToolSwitch>& switches = {}, const RunConfig* base = nullptr);

// Returns the recipe's flags among the words of a command line, which was parsed: each and its value as two words.
std::vector<std::string> words_without(const std::vector<ToolSwitch>& switches, const std::vector<std::string>& words);

// The text of --help, flags with their defaults under headings: the common ones, and the tool's; or all.
std::string flags_help(const Recipe& recipe, const std::string& usage, HelpScope scope,
                       const std::vector<ToolSwitch>& switches = {});

// Every flag that has an effect, but those of FlagEffect::call, as words of a command line that gives the same run; in
// the order of the table.
std::vector<std::string> flag_words(const Recipe& recipe, const RunConfig& config);
// The flags that such words give. Throws UsageError for every other word: a manifest may come from anywhere, and its
// words are to write no file, print no help and start nothing.
RunConfig recorded_config(const Recipe& recipe, const std::vector<std::string>& words);
// Those that all processes of a run must be given alike, a line each: how they speak with each other follows from them.
std::string shared_flags(const Recipe& recipe, const RunConfig& config);
// A flag and its value: {"minibatch", "64", FlagEffect::computed}.
struct FlagValue {
  std::string name;  // without dashes
  std::string value;
  FlagEffect effect;
  bool operator==(const FlagValue&) const = default;
};
std::vector<FlagValue> flag_values(const Recipe& recipe, const RunConfig& config);

}  // namespace kb
