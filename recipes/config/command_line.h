// The command line of a program: flags and words with the variables that they set, the checks of their values, and the
// text of --help. A recipe's flags (flags.h) are told from their values by the same rules. Only the source includes
// CLI11, whose headers take seconds to compile.
#pragma once
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "recipes/config/help.h"
#include "recipes/config/values.h"

namespace kb {

// A flag as the rules see it.
struct FlagForm {
  std::string name;         // "--lr"
  bool takes_value = true;  // of its own word, or behind "="
  bool repeats = false;     // may be given several times
};

// A command line, cut into flags and what is none.
struct SplitWords {
  std::map<std::string, std::vector<std::string>> values;  // by name, of the flags that are given; of a switch {""}
  std::vector<std::string> others;                         // in their order; an unknown flag begins with "-"
  HelpScope help = HelpScope::none;
};

// Throws UsageError where a value is missing or too many, or a switch has one.
SplitWords split_words(const std::vector<FlagForm>& flags, std::vector<std::string> words);

// Throws UsageError for a flag that is none of `names`, with the nearest one.
[[noreturn]] void refuse_unknown(const std::string& flag, const std::vector<std::string>& names);

// Every flag is declared with its variable, which outlives the parsing; what the variable holds at its declaration is
// the default that --help shows. A name that does not begin with "--" is that of a word by its place.
class CommandLine {
 public:
  // `doc`: sentences above the flags. `usage`: "./run tune [--quick] [--write FILE]".
  CommandLine(std::string doc, std::string usage);

  CommandLine& flag(const std::string& name, bool& variable, const std::string& doc);
  CommandLine& text(FlagText text, std::string& variable);
  CommandLine& text(FlagText text, std::filesystem::path& variable);
  // All words that are left, at least one where it is required.
  CommandLine& texts(FlagText text, std::vector<std::string>& variable);
  CommandLine& choice(FlagText text, std::string& variable, std::vector<std::string> choices);
  // A whole number in [least, most].
  template <std::integral Number>
  CommandLine& whole(FlagText text, Number& variable, int64_t least, int64_t most = kWholeBelow - 1) {
    return add_whole(std::move(text), std::to_string(variable), least, most,
                     [&variable](int64_t value) { variable = static_cast<Number>(value); });
  }
  CommandLine& whole(FlagText text, std::optional<int64_t>& variable, int64_t least, int64_t most = kWholeBelow - 1) {
    return add_whole(std::move(text), "", least, most, [&variable](int64_t value) { variable = value; });
  }
  // A number above 0, and at most `most`.
  CommandLine& positive(FlagText text, double& variable, double most);
  CommandLine& positive(FlagText text, std::optional<double>& variable, double most);

  // These are about the flag or word that was declared last.
  CommandLine& required();
  CommandLine& excludes(std::string flag);

  // Sets the variables. Returns false where --help was asked for and printed. Throws UsageError.
  bool parse(std::vector<std::string> words) const;
  std::string help() const;

 private:
  struct Argument {
    FlagText text;
    std::string fallback;                                // shown by --help; empty: none
    std::function<void(const std::string& value)> read;  // throws UsageError
    bool repeats = false, is_required = false;
    std::string excluded = {};

    bool is_flag() const { return text.name.starts_with("--"); }
  };

  CommandLine& add(Argument argument);
  CommandLine& add_whole(FlagText text, std::string fallback, int64_t least, int64_t most,
                         std::function<void(int64_t)> set);
  CommandLine& add_positive(FlagText text, std::string fallback, double most, std::function<void(double)> set);
  std::vector<std::string> names() const;
  void read_flags(const SplitWords& split) const;
  void read_places(const std::vector<std::string>& words) const;
  [[noreturn]] void refuse(const std::string& fault) const;

  std::string doc_, usage_;
  std::vector<Argument> arguments_;
};

}  // namespace kb
