// Options of one recipe's own, such as --depth: numbers with a default and a range, or words of a list. They stand
// among the flags of its program and of the tools, and reach the model function through its Batch.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace kb {

struct RecipeOption {
  std::string name;                  // "depth" is the flag --depth
  double value = 0;                  // value if it is not given
  std::string doc;                   // meaning and unit
  std::vector<double> choices = {};  // if there are some, no other value is taken; whole numbers if `whole` is set
  double low = 1, below = 0x1p31;    // else values in [low, below)
  bool whole = true;                 // whole numbers alone
  // Not empty: the option is one of these words and no number; the first word is its default.
  std::vector<std::string> words = {};
  bool is_switch = false;  // a flag without a value: 1 where it is given, else 0

  bool allows(double candidate) const;
  // "one of 8, 20", "a whole number in [1, 2^31)", "a number in [0, 1)", "one of none, batch".
  std::string expectation() const;
};

// A share of something, in [0, 1).
RecipeOption fraction_option(std::string name, double value, std::string doc);

// One of the words, by default the first: --norm none|batch.
RecipeOption word_option(std::string name, std::vector<std::string> words, std::string doc);

// A flag without a value, as --baseline; OptionValues::real is 1 where it is given, else 0.
RecipeOption switch_option(std::string name, std::string doc);

// A value for each option of a recipe.
class OptionValues {
 public:
  OptionValues() = default;
  // The defaults. Throws Error for one that the option would not take, and for fractions to choose from where it is
  // whole.
  explicit OptionValues(const std::vector<RecipeOption>& options);

  // All throw Error where the recipe has no option of this name, and where it is of the other kind, a word or a number;
  // `whole` also where it may be a fraction.
  int64_t whole(const std::string& name) const;
  double real(const std::string& name) const;
  const std::string& word(const std::string& name) const;

  void set(const std::string& name, double value);
  void set(const std::string& name, const std::string& word);

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
