// Fuzzes the command line. The first byte chooses the recipe, and every line of the rest is a word. Flags that are
// accepted are written as words, and these must be read as the same flags.
#include "recipes/config/flags.h"

#include "recipes/config/learning.h"
#include "recipes/config/run_plan.h"
#include "recipes/papers/table.h"
#include "recipes/run/recorded_flags.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::flags_target {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

KB_FUZZ_TARGET(flags) {
  Steering steering(data, size);
  const auto recipes = all_recipes();
  const Recipe& recipe = recipes[steering.byte() % recipes.size()];
  try {
    const std::optional<RunConfig> config = parse_flags(recipe, recipe.name, words_of(steering.rest()));
    if (!config) return;
    const std::vector<std::string> words = flag_words(recipe, *config);
    require(flag_words(recipe, recorded_config(recipe, words)) == words, "recorded words are read to the same");
    const RunConfig planned = with_plan(*config);
    rate_derivation({}, planned.learning, make_plan(planned, 1000));
  } catch (const Error&) {
  }
}

}  // namespace kb::fuzz::flags_target
