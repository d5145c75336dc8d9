// Options of one recipe's own, such as --depth: numbers with a default and a range, which stand among the flags of its
// program and of the tools, and reach the model function through its Batch.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace kb {

struct RecipeOption {
  std::string name;                  // "depth" is the flag --depth
  double value = 0;                  // where it is not given
  std::string doc;                   // what it is and its unit
  std::vector<double> choices = {};  // where there are some, nothing else
  double low = 1, below = 0x1p31;    // else values in [low, below)
  bool whole = true;                 // whole numbers alone

  bool allows(double candidate) const;
  // "one of 8, 20", "a whole number in [1, 2^31)", "a number in [0, 1)".
  std::string expectation() const;
};

// A share of something, in [0, 1).
RecipeOption fraction_option(std::string name, double value, std::string doc);

// A value for each option of a recipe.
class OptionValues {
 public:
  OptionValues() = default;
  // The defaults.
  explicit OptionValues(const std::vector<RecipeOption>& options);

  // Both throw Error where the recipe has no option of this name; `whole` also where it may be a fraction.
  int64_t whole(const std::string& name) const;
  double real(const std::string& name) const;

  void set(const std::string& name, double value);

 private:
  struct Entry {
    std::string name;
    double value;
    bool whole;
  };
  size_t position(const std::string& name) const;
  std::vector<Entry> entries_;
};

}  // namespace kb
