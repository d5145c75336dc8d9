// The command line of a program: flags and words with the variables that they set, the checks of their values, and the
// text of --help. The words of a recipe's command line (flags.h) are split into flags and values by the same function.
// Only the .cpp file includes CLI11, whose headers take seconds to compile.
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

// The form of a flag on a command line.
struct FlagForm {
  std::string name;         // "--lr"
  bool takes_value = true;  // whether a value follows, as the next word or after "="
  bool repeats = false;     // whether it may be given several times
};

// A command line, split into flags and other words.
struct SplitWords {
  std::map<std::string, std::vector<std::string>> values;  // values by the names of the flags given; {""} for a switch
  std::vector<std::string> others;  // other words in their order; an unknown flag begins with "-"
  HelpScope help = HelpScope::none;
};

// Splits the words. Throws UsageError if a flag lacks its value or has too many, or a switch has one.
SplitWords split_words(const std::vector<FlagForm>& flags, std::vector<std::string> words);

// Throws UsageError for a flag that is not among `names`; its text suggests the nearest of them.
[[noreturn]] void refuse_unknown(const std::string& flag, const std::vector<std::string>& names);

// The flags and positional words of a program. Each is declared with the variable that it sets, which must outlive the
// parsing; the variable's value at the declaration is the default that --help shows. A name that does not begin with
// "--" declares a positional word.
class CommandLine {
 public:
  // `doc` is the text above the flags in --help; `usage` is a line such as "./run tune [--quick] [--write FILE]".
  CommandLine(std::string doc, std::string usage);

  CommandLine& flag(const std::string& name, bool& variable, const std::string& doc);
  CommandLine& text(FlagText text, std::string& variable);
  CommandLine& text(FlagText text, std::filesystem::path& variable);
  // Declares an argument that takes all remaining words, or a flag that may be repeated. After required(), at least one
  // word has to be given.
  CommandLine& texts(FlagText text, std::vector<std::string>& variable);
  CommandLine& choice(FlagText text, std::string& variable, std::vector<std::string> choices);
  // Declares a whole number in [least, most].
  template <std::integral Number>
  CommandLine& whole(FlagText text, Number& variable, int64_t least, int64_t most = kWholeBelow - 1) {
    return add_whole(std::move(text), std::to_string(variable), least, most,
                     [&variable](int64_t value) { variable = static_cast<Number>(value); });
  }
  CommandLine& whole(FlagText text, std::optional<int64_t>& variable, int64_t least, int64_t most = kWholeBelow - 1) {
    return add_whole(std::move(text), "", least, most, [&variable](int64_t value) { variable = value; });
  }
  // Declares a number in (0, most].
  CommandLine& positive(FlagText text, double& variable, double most);
  CommandLine& positive(FlagText text, std::optional<double>& variable, double most);

  // The next two apply to the flag or word that was declared last.
  CommandLine& required();
  CommandLine& excludes(std::string flag);  // `flag` must not be given beside it

  // Sets the variables. Returns false if --help was asked for, after printing it. Throws UsageError for wrong words.
  bool parse(std::vector<std::string> words) const;
  std::string help() const;

 private:
  struct Argument {
    FlagText text;
    std::string fallback;                                // default that --help shows; none if empty
    std::function<void(const std::string& value)> read;  // sets the variable; throws UsageError
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
