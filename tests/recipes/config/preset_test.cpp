// Defaults that depend on a recipe's own options and on the minibatch, and flags that replace them.
#include "recipes/config/preset.h"

#include <boost/test/unit_test.hpp>

#include "recipes/config/flags.h"
#include "recipes/papers/table.h"
#include "recipes/run/advice.h"
#include "recipes/run/recorded_flags.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::preset_test {

namespace {

using PresetWords = std::vector<std::string>;

// The rate depends on --pace, the warmup on the minibatch; --pace fast has a minibatch of its own.
Preset paced(const PresetChoice& choice) {
  const bool is_fast = choice.options.word("pace") == "fast";
  Preset preset{{"--lr", is_fast ? "0.5" : "0.25", "--warmup-epochs",
                 choice.minibatch.value_or(is_fast ? 128 : 64) > 100 ? "3" : "1"}};
  if (is_fast) preset.flags.insert(preset.flags.end(), {"--minibatch", "128", "--optimizer", "lars"});
  if (choice.dataset == "fashion-mnist") preset.flags.insert(preset.flags.end(), {"--epochs", "77"});
  preset.notes = {"pace " + choice.options.word("pace")};
  return preset;
}

Recipe paced_recipe() {
  Recipe recipe = mlp_mnist();
  recipe.options.push_back(word_option("pace", {"slow", "fast"}, "how it goes"));
  recipe.options.push_back(switch_option("loud", "whether it is heard"));
  recipe.preset = paced;
  return recipe;
}

RunConfig preset_of(const PresetWords& words) { return *parse_flags(paced_recipe(), "", words); }

}  // namespace

BOOST_AUTO_TEST_SUITE(preset)

BOOST_AUTO_TEST_CASE(options_and_minibatch_choose_defaults) {
  BOOST_TEST(preset_of({}).learning.lr == 0.25);
  BOOST_TEST(preset_of({}).learning.warmup_epochs == 1);
  BOOST_TEST(preset_of({"--minibatch", "256"}).learning.warmup_epochs == 3);
  BOOST_TEST(preset_of({"--minibatch", "256"}).batch.minibatch == 256);
  const RunConfig fast = preset_of({"--pace", "fast"});
  BOOST_TEST(fast.batch.minibatch == 128);
  BOOST_TEST(fast.learning.optimizer == "lars");
  BOOST_TEST(fast.learning.lr == 0.5);
  BOOST_TEST(default_config(paced_recipe()).learning.lr == 0.25);
  BOOST_TEST(preset_of({"--dataset", "fashion-mnist"}).length.epochs == 77);
  BOOST_TEST(preset_of({"--dataset", "fashion-mnist"}).data.dataset == "fashion-mnist");
}

BOOST_AUTO_TEST_CASE(flags_replace_a_preset) {
  const RunConfig config = preset_of({"--lr", "7", "--pace", "fast", "--minibatch", "32"});
  BOOST_TEST(config.learning.lr == 7);
  BOOST_TEST(config.batch.minibatch == 32);
  // Another optimizer has the rate of the recipe's defaults, not the preset's.
  const RunConfig other = preset_of({"--pace", "fast", "--optimizer", "momentum"});
  BOOST_TEST(other.learning.optimizer == "momentum");
  BOOST_TEST(other.learning.lr == paced_recipe().defaults.lr);
}

BOOST_AUTO_TEST_CASE(recorded_words_give_the_same_run) {
  const Recipe recipe = paced_recipe();
  const PresetWords cases[] = {
      {}, {"--pace", "fast"}, {"--pace", "fast", "--lr", "3"}, {"--minibatch", "256", "--loud"}};
  for (const PresetWords& words : cases) {
    const RunConfig config = preset_of(words);
    BOOST_TEST(
        (flag_values(recipe, recorded_config(recipe, flag_words(recipe, config))) == flag_values(recipe, config)));
  }
}

BOOST_AUTO_TEST_CASE(a_printed_command_gives_the_same_run) {
  const Recipe recipe = paced_recipe();
  BOOST_TEST(command_with(recipe, preset_of({}), {}) == "./run mlp_mnist");
  BOOST_TEST(command_with(recipe, preset_of({"--pace", "fast"}), {}) == "./run mlp_mnist --pace fast");
  BOOST_TEST(command_with(recipe, preset_of({"--minibatch", "256", "--loud"}), {}) ==
             "./run mlp_mnist --loud --minibatch 256");
  BOOST_TEST(command_with(recipe, preset_of({"--dataset", "fashion-mnist"}), {}) ==
             "./run mlp_mnist --dataset fashion-mnist");
  // The new minibatch has another preset; the command names the flags that keep the values from before.
  BOOST_TEST(command_with(recipe, preset_of({}), {{"--minibatch", "512"}}) ==
             "./run mlp_mnist --minibatch 512 --warmup-epochs 1");
}

BOOST_AUTO_TEST_CASE(the_help_shows_the_defaults_and_the_notes) {
  const std::string text = flags_help(paced_recipe(), "x", HelpScope::all);
  BOOST_TEST(test::contains(text, "\npace slow\n"));
  BOOST_TEST(test::contains(text, "[0.25]"));
  BOOST_TEST((preset_notes(paced_recipe(), preset_of({"--pace", "fast"})) == PresetWords{"pace fast"}));
}

BOOST_AUTO_TEST_CASE(a_switch_has_no_value) {
  BOOST_TEST(preset_of({}).data.options.real("loud") == 0);
  BOOST_TEST(preset_of({"--loud"}).data.options.real("loud") == 1);
  BOOST_CHECK_THROW(preset_of({"--loud", "1"}), UsageError);
}

BOOST_AUTO_TEST_CASE(the_baseline_has_one_minibatch) {
  const Recipe recipe = imagenet_1h();
  BOOST_TEST(parse_flags(recipe, "", {"--baseline"})->batch.minibatch == 256);
  BOOST_TEST(parse_flags(recipe, "", {"--baseline", "--minibatch", "256"})->batch.minibatch == 256);
  BOOST_CHECK_EXCEPTION(
      parse_flags(recipe, "", {"--baseline", "--minibatch", "512"}), UsageError,
      kb::test::says("--baseline: expected --minibatch 256 beside it, or none, got '--minibatch 512'"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::preset_test
