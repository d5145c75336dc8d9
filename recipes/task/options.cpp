#include "recipes/task/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "graph/error.h"
#include "recipes/task/suggest.h"

namespace kb {

bool RecipeOption::allows(double candidate) const {
  if (!choices.empty()) return std::find(choices.begin(), choices.end(), candidate) != choices.end();
  return candidate >= low && candidate < below && (!whole || std::floor(candidate) == candidate);
}

std::string RecipeOption::expectation() const {
  if (!words.empty()) return fmt::format("one of {}", fmt::join(words, ", "));
  if (!choices.empty()) return fmt::format("one of {}", fmt::join(choices, ", "));
  const std::string number = whole ? "a whole number" : "a number";
  if (std::isinf(below)) return fmt::format("{} >= {}", number, low);
  return fmt::format("{} in [{}, {})", number, low, below == 0x1p31 ? "2^31" : fmt::to_string(below));
}

RecipeOption fraction_option(std::string name, double value, std::string doc) {
  return {.name = std::move(name), .value = value, .doc = std::move(doc), .low = 0, .below = 1, .whole = false};
}

RecipeOption word_option(std::string name, std::vector<std::string> words, std::string doc) {
  return {.name = std::move(name), .doc = std::move(doc), .words = std::move(words)};
}

RecipeOption switch_option(std::string name, std::string doc) {
  return {.name = std::move(name), .doc = std::move(doc), .low = 0, .below = 2, .is_switch = true};
}

namespace {

void check_choices(const RecipeOption& option) {
  if (!option.whole) return;
  for (const double choice : option.choices)
    if (std::floor(choice) != choice)
      throw Error(
          fmt::format("the recipe's option '{0}': one of its choices is no whole number\n  expected: whole numbers\n"
                      "  got:      {1}\n  hint:     .whole = false for fractions, which real(\"{0}\") reads",
                      option.name, choice));
}

void check_default(const RecipeOption& option) {
  if (!option.words.empty() || option.allows(option.value)) return;
  const bool is_share = option.whole && option.value > 0 && option.value < 1;
  throw Error(fmt::format(
      "the recipe's option '{0}': its default is none of its values\n  expected: {1}\n  got:      {2}\n"
      "  hint:     {3}",
      option.name, option.expectation(), option.value,
      is_share ? fmt::format("a share of something is fraction_option(\"{}\", {}, ...)", option.name, option.value)
               : ".low, .below, .choices and .whole of the option say which it takes"));
}

}  // namespace

OptionValues::OptionValues(const std::vector<RecipeOption>& options) {
  for (const RecipeOption& option : options) {
    check_choices(option);
    check_default(option);
  }
  for (const RecipeOption& option : options)
    entries_.push_back({option.name, option.value, option.whole, option.words.empty() ? "" : option.words.front()});
}

size_t OptionValues::position(const std::string& name) const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.name == name) return names.size();
    names.push_back(entry.name);
  }
  throw Error(fmt::format("the recipe has no option '{}'{}", name, suggestion(name, names)));
}

const OptionValues::Entry& OptionValues::entry(const std::string& name, bool is_word) const {
  const Entry& entry = entries_[position(name)];
  if (entry.word.empty() == !is_word) return entry;
  if (is_word) throw Error(fmt::format("the recipe's option '{0}' is a number: read it by real(\"{0}\")", name));
  throw Error(fmt::format("the recipe's option '{0}' is a word: read it by word(\"{0}\")", name));
}

int64_t OptionValues::whole(const std::string& name) const {
  const Entry& number = entry(name, false);
  if (!number.whole)
    throw Error(fmt::format("the recipe's option '{0}' may be a fraction: read it by real(\"{0}\")", name));
  return static_cast<int64_t>(number.value);
}

double OptionValues::real(const std::string& name) const { return entry(name, false).value; }

const std::string& OptionValues::word(const std::string& name) const { return entry(name, true).word; }

void OptionValues::set(const std::string& name, double value) {
  entry(name, false);
  entries_[position(name)].value = value;
}

void OptionValues::set(const std::string& name, const std::string& word) {
  entry(name, true);
  entries_[position(name)].word = word;
}

void OptionValues::set_as(const std::string& name, const OptionValues& other) {
  entries_[position(name)] = other.entries_[other.position(name)];
}

}  // namespace kb
