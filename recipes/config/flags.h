// The command line of every recipe. One table of flags, with their defaults and units, turns its words into a RunConfig
// and back. Tools add a few flags of their own.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "recipes/config/flag_rows.h"

namespace kb {

// Returns the recipe's defaults; --data of images comes from the environment.
RunConfig default_config(const Recipe& recipe);

// A flag that a tool adds. It replaces a recipe's flag of the same name. The variable gives its kind: a switch, a whole
// number from `least` on, a number in [0, 1e9), a word, or words of a flag that may be given several times.
struct ToolSwitch {
  FlagText text;
  std::variant<bool*, int64_t*, double*, std::string*, std::vector<std::string>*> variable;
  int64_t least = 1;
};

// Returns the configuration of a command line (without the program's name), or nothing if --help was asked for, which
// it then prints with `usage` after "usage: ". Throws UsageError with the nearest right flag or value, and for a flag
// that has no effect beside the others. Flags that are not given have their values in `base`, or the recipe's defaults.
std::optional<RunConfig> parse_flags(const Recipe& recipe, const std::string& usage,
                                     const std::vector<std::string>& arguments,
                                     const std::vector<ToolSwitch>& switches = {}, const RunConfig* base = nullptr);

// Returns the words of a command line, which must have been parsed, without the tool's own flags; a flag and its value
// are two words.
std::vector<std::string> words_without(const std::vector<ToolSwitch>& switches, const std::vector<std::string>& words);

// Returns the text of --help: under headings, the common flags or all flags, each with its default beside the
// flags `given`, and the tool's own.
std::string flags_help(const Recipe& recipe, const std::string& usage, HelpScope scope,
                       const std::vector<ToolSwitch>& switches = {}, const GivenFlags& given = {});

// Returns the words of a command line that gives the same run: every flag that has an effect, except those of
// FlagEffect::call, in the order of the table.
std::vector<std::string> flag_words(const Recipe& recipe, const RunConfig& config);
// Returns the flags that must be equal in all processes of a run, a line each, because the processes' communication
// follows from them.
std::string shared_flags(const Recipe& recipe, const RunConfig& config);
// A flag and its value, for instance {"minibatch", "64", FlagEffect::computed}.
struct FlagValue {
  std::string name;  // without dashes
  std::string value;
  FlagEffect effect;
  bool operator==(const FlagValue&) const = default;
};
// Returns all flags of the recipe with their values, in the order of the table.
std::vector<FlagValue> flag_values(const Recipe& recipe, const RunConfig& config);

}  // namespace kb
