// Options that a single recipe defines, such as --depth: numbers with a default and a range, or words of a list. The
// recipe's program and the tools have them as flags, and the model function reads their values from its Batch.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kb {

struct RecipeOption {
  std::string name;                  // name of the flag without dashes, "depth"
  double value = 0;                  // default
  std::string doc;                   // meaning and unit
  std::vector<double> choices = {};  // the only values that are allowed; empty: `low` and `below` bound the value
  double low = 1, below = 0x1p31;    // bounds if there are no choices: values are in [low, below)
  bool whole = true;                 // whether only whole numbers are allowed; the choices must then be whole, too
  // If not empty, the option is one of these words instead of a number; the first word is the default.
  std::vector<std::string> words = {};
  bool is_switch = false;  // whether the flag takes no value: the option is 1 if the flag is given, else 0

  bool allows(double candidate) const;
  // Returns a text for help and messages: "one of 8, 20", "a whole number in [1, 2^31)", "one of none, batch".
  std::string expectation() const;
};

// Returns an option that is a share of something, a number in [0, 1).
RecipeOption fraction_option(std::string name, double value, std::string doc);

// Returns an option that is one of the words, such as --norm none|batch; its default is the first word.
RecipeOption word_option(std::string name, std::vector<std::string> words, std::string doc);

// Returns an option whose flag takes no value, such as --baseline; OptionValues::real() is 1 if it is given, else 0.
RecipeOption switch_option(std::string name, std::string doc);

// The values of a recipe's options.
class OptionValues {
 public:
  OptionValues() = default;
  // Takes the defaults. Throws Error if an option does not allow its own default, or is `whole` and has fractions among
  // its choices.
  explicit OptionValues(const std::vector<RecipeOption>& options);

  // These and set() throw Error if the recipe has no option of this name, or a word is asked for as a number or a
  // number as a word; whole() also throws for an option that allows fractions.
  int64_t whole(const std::string& name) const;
  double real(const std::string& name) const;
  const std::string& word(const std::string& name) const;

  void set(const std::string& name, double value);
  void set(const std::string& name, const std::string& word);
  void set_as(const std::string& name, const OptionValues& other);  // the value that the other one has

 private:
  struct Entry {
    std::string name;
    double value;
    bool whole;
    std::string word;  // empty: the option is a number
  };
  size_t position(const std::string& name) const;
  const Entry& entry(const std::string& name, bool is_word) const;
  std::vector<Entry> entries_;
};

}  // namespace kb
