// --groups and --FLAG.GROUP: how groups of parameters learn, as words and back.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "recipes/config/flags.h"
#include "recipes/config/learning.h"
#include "recipes/run/recorded_flags.h"
#include "tests/recipes/small_run.h"
#include "tests/support/says.h"

namespace kb::groups_test {
namespace {

using test::says;

RunConfig parse(const std::vector<std::string>& words) {
  static const Recipe recipe = test::small_recipe();
  return parse_flags(recipe, "", words).value();
}

double hyper_of(const Learning& learning, const std::string& name) {
  for (const NamedScalar& scalar : learning.hyper)
    if (scalar.name == name) return scalar.value;
  return -1;
}

void refuses(const std::string& groups, const std::string& text) {
  BOOST_CHECK_EXCEPTION(parse({"--groups", groups}), UsageError, says(text));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(groups)

BOOST_AUTO_TEST_CASE(a_group_differs_by_its_flags_alone) {
  const RunConfig config = parse({"--optimizer", "momentum", "--lr", "0.5", "--momentum", "0.8", "--groups",
                                  "a --lr 0.25; b --optimizer adam --beta1 0.5 --clip-norm 2"});
  BOOST_REQUIRE(config.group_learning.size() == 2u);
  BOOST_TEST(config.group_learning[0].group == "a");
  BOOST_TEST(config.group_learning[0].learning.lr == 0.25);
  BOOST_TEST(hyper_of(config.group_learning[0].learning, "momentum") == 0.8);
  BOOST_TEST(config.group_learning[1].group == "b");
  BOOST_TEST(config.group_learning[1].learning.optimizer == "adam");
  BOOST_TEST(hyper_of(config.group_learning[1].learning, "beta1") == 0.5);
  BOOST_TEST(config.group_learning[1].learning.clip_norm == 2);
  BOOST_TEST(config.learning.lr == 0.5);
}

// A manifest keeps the words, and a run that is resumed reads them.
BOOST_AUTO_TEST_CASE(words_of_a_run_are_read_to_the_same) {
  for (const char* groups : {"a --lr 0.25", "a --optimizer adam --beta1 0.5; b --base-lr 0.1 --base-minibatch 8",
                             "a --schedule step --milestones 1,2 --no-decay none"}) {
    const RunConfig config = parse({"--lr", "0.5", "--groups", groups});
    const std::vector<std::string> words = flag_words(test::small_recipe(), config);
    const RunConfig again = recorded_config(test::small_recipe(), words);
    BOOST_TEST(flag_words(test::small_recipe(), again) == words);
    BOOST_REQUIRE(again.group_learning.size() == config.group_learning.size());
    for (size_t g = 0; g < again.group_learning.size(); ++g) {
      BOOST_TEST(again.group_learning[g].learning.lr == config.group_learning[g].learning.lr);
      BOOST_TEST(again.group_learning[g].learning.optimizer == config.group_learning[g].learning.optimizer);
      BOOST_TEST(again.group_learning[g].learning.base_minibatch == config.group_learning[g].learning.base_minibatch);
    }
  }
}

// A preset's group keeps its own flags alone; what the command line says to all reaches it too.
BOOST_AUTO_TEST_CASE(flags_reach_the_groups_of_a_preset) {
  Recipe recipe = test::small_recipe();
  recipe.preset = [](const PresetChoice&) -> Preset { return {{"--groups", "a --lr 0.25"}}; };
  const auto learning_of_a = [&](const std::vector<std::string>& words) {
    const RunConfig config = parse_flags(recipe, "", words).value();
    BOOST_REQUIRE(config.group_learning.size() == 1u);
    return config.group_learning[0].learning;
  };
  const Learning clipped = learning_of_a({"--lr", "0.5", "--clip-norm", "2", "--optimizer", "adam"});
  BOOST_TEST(clipped.lr == 0.25);
  BOOST_TEST(clipped.clip_norm == 2);
  BOOST_TEST(clipped.optimizer == "adam");
  BOOST_TEST(learning_of_a({"--groups", "a --lr 0.125"}).lr == 0.125);
}

BOOST_AUTO_TEST_CASE(a_flag_with_a_name_behind_a_dot_is_that_of_the_group) {
  const RunConfig config = parse({"--lr.net.head=0.25", "--optimizer.matrices", "muon", "--lr.matrices", "0.05",
                                  "--optimizer", "adamw", "--weight-decay", "0.3", "--schedule", "wsd"});
  BOOST_REQUIRE(config.group_learning.size() == 2u);
  const GroupLearning &matrices = config.group_learning[0], &head = config.group_learning[1];
  BOOST_TEST(matrices.group == "matrices");
  BOOST_TEST(matrices.learning.optimizer == "muon");
  BOOST_TEST(matrices.learning.lr == 0.05);
  BOOST_TEST(matrices.learning.schedule == "wsd");
  BOOST_TEST(hyper_of(matrices.learning, "momentum") == 0.95);
  BOOST_TEST(head.group == "net.head");
  BOOST_TEST(head.learning.optimizer == "adamw");
  BOOST_TEST(hyper_of(head.learning, "weight_decay") == 0.3);
  const RunConfig same = parse({"--groups", "matrices --optimizer muon --lr 0.05; net.head --lr 0.25", "--optimizer",
                                "adamw", "--weight-decay", "0.3", "--schedule", "wsd"});
  BOOST_TEST((flag_values(test::small_recipe(), same) == flag_values(test::small_recipe(), config)));
}

// Flags of a group are read over what the group has: of a preset, of a run that is branched, of --groups.
BOOST_AUTO_TEST_CASE(flags_of_a_group_change_a_group_that_is_there) {
  const Recipe recipe = test::small_recipe();
  const RunConfig base = parse({"--groups", "a --optimizer adam --beta1 0.5; b --optimizer none"});
  const RunConfig config =
      parse_flags(recipe, "", {"--lr.a", "0.25", "--optimizer.b", "sgd", "--lr.c", "2"}, {}, &base).value();
  BOOST_REQUIRE(config.group_learning.size() == 3u);
  BOOST_TEST(config.group_learning[0].learning.optimizer == "adam");
  BOOST_TEST(config.group_learning[0].learning.lr == 0.25);
  BOOST_TEST(hyper_of(config.group_learning[0].learning, "beta1") == 0.5);
  BOOST_TEST(config.group_learning[1].learning.optimizer == "sgd");
  BOOST_TEST(config.group_learning[2].learning.lr == 2);
}

// An optimizer of the same usual rate takes the rate and the numbers of the run, another one has its own.
BOOST_AUTO_TEST_CASE(a_groups_optimizer_takes_what_it_shares_with_the_run) {
  const RunConfig config = parse({"--optimizer", "momentum", "--lr", "0.5", "--momentum", "0.8", "--optimizer.a",
                                  "nesterov", "--optimizer.b", "adam"});
  BOOST_TEST(config.group_learning[0].learning.lr == 0.5);
  BOOST_TEST(hyper_of(config.group_learning[0].learning, "momentum") == 0.8);
  BOOST_TEST(config.group_learning[1].learning.lr == 1e-3);
}

BOOST_AUTO_TEST_CASE(a_frozen_group_has_no_other_flag) {
  const RunConfig config = parse({"--optimizer.a", "none"});
  BOOST_TEST(is_frozen(config.group_learning[0].learning));
  const std::vector<std::string> words = flag_words(test::small_recipe(), config);
  const auto at = std::ranges::find(words, "--groups");
  BOOST_REQUIRE((at != words.end()));
  BOOST_TEST(*std::next(at) == "a --optimizer none");
  BOOST_TEST(is_frozen(recorded_config(test::small_recipe(), words).group_learning[0].learning));
  const auto refuses = [](const std::vector<std::string>& words, const std::string& text) {
    BOOST_CHECK_EXCEPTION(parse(words), UsageError, says(text));
  };
  refuses({"--optimizer.a", "none", "--lr.a", "0.1"}, "--lr.a: it has no effect here");
  refuses({"--optimizer", "none"}, "--optimizer: expected one of");
}

BOOST_AUTO_TEST_CASE(wrong_flags_of_a_group_are_refused_by_their_name) {
  const auto refuses = [](const std::vector<std::string>& words, const std::string& text) {
    BOOST_CHECK_EXCEPTION(parse(words), UsageError, says(text));
  };
  refuses({"--lr.a", "fast"}, "--lr.a: expected a number >= 0, got 'fast'");
  refuses({"--lr.a"}, "--lr.a: expected a value, got none");
  refuses({"--optimizer.a", "muom"}, "--optimizer.a: ");
  refuses({"--milestones.a", "3"}, "--milestones.a: it has no effect here");
  refuses({"--lr.a b", "3"}, "--lr: expected a group's name behind the dot");
  refuses({"--lrr.a", "3"}, "there is no flag '--lrr.a'");
  refuses({"--minibatch.a", "3"}, "there is no flag '--minibatch.a'");
}

BOOST_AUTO_TEST_CASE(other_words_are_refused) {
  refuses("--lr 0.25", "--groups: expected NAME FLAG VALUE");
  refuses("a lr 0.25", "got 'lr' for a");
  refuses("a --minibatch 8", "got '--minibatch' for a");
  refuses("a --lr fast", "--lr: expected a number");
  refuses("a --milestones 3", "--milestones: it has no effect here");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::groups_test
