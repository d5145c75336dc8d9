// Tests the commands that a run names at its end: they work as they stand and keep the flags that the run was given.
#include "recipes/run/advice.h"
#include "recipes/config/run_plan.h"

#include <boost/test/unit_test.hpp>
#include <sstream>

#include "recipes/config/learning.h"
#include "recipes/papers/table.h"

namespace kb::advice_test {

namespace {

using Words = std::vector<std::string>;

const RunPlan kLong{.samples = 60000, .minibatch = 64, .steps_per_epoch = 937, .steps = 5622};

RunConfig flags_of(const Words& words) { return *parse_flags(lenet_mnist(), "", words); }

// Returns the flags of each line of what_next, read back; no word of these tests needs quotes.
std::vector<RunConfig> advised(const Words& words, const RunPlan& plan = kLong) {
  std::istringstream lines(what_next(lenet_mnist(), flags_of(words), plan));
  std::vector<RunConfig> result;
  for (std::string line; std::getline(lines, line);) {
    const size_t start = line.find("./run lenet_mnist") + std::string("./run lenet_mnist").size();
    std::istringstream stream(line.substr(start, line.find("   ", start) - start));
    Words read;
    for (std::string word; stream >> word;) read.push_back(word);
    result.push_back(flags_of(read));
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(advice)

BOOST_AUTO_TEST_CASE(the_lines_of_a_run_without_flags) {
  BOOST_TEST(what_next(lenet_mnist(), flags_of({}), kLong) ==
             "next: ./run lenet_mnist --minibatch 256 --base-minibatch 64 --warmup-epochs 1   the linear scaling rule\n"
             "      ./run lenet_mnist --seed 2   how much of the error is chance\n"
             "      ./run lenet_mnist --dry-run --dump schedule   what was compiled");
}

BOOST_AUTO_TEST_CASE(flags_that_a_preset_gives_are_left_out) {
  const Recipe recipe = find_recipe("gpt");
  const auto command = [&](const Words& words) { return command_with(recipe, *parse_flags(recipe, "", words), {}); };
  BOOST_TEST(command({"--paper", "355M"}) == "./run gpt --paper 355M");
  BOOST_TEST(command({"--paper", "355M", "--layers", "2"}) == "./run gpt --layers 2 --paper 355M");
  BOOST_TEST(command({"--paper", "355M", "--context", "64"}) == "./run gpt --context 64 --paper 355M");
  BOOST_TEST(command({"--context", "64"}) == "./run gpt");
}

// The baseline is a setting at one minibatch, and the preset refuses others.
BOOST_AUTO_TEST_CASE(a_minibatch_that_the_recipe_refuses_is_not_offered) {
  const Recipe recipe = find_recipe("imagenet_1h");
  const RunConfig config = *parse_flags(recipe, "", {"--baseline", "--data", "synthetic"});
  const std::string lines = what_next(recipe, config, {.samples = 100'000, .minibatch = 256});
  BOOST_TEST(lines ==
             "next: ./run imagenet_1h --baseline --data synthetic --seed 2   how much of the error is chance\n"
             "      ./run imagenet_1h --baseline --data synthetic --dry-run --dump schedule   what was compiled");
}

BOOST_AUTO_TEST_CASE(a_model_that_writes_sequences_shows_them) {
  const std::string lines = what_next(lenet_mnist(), flags_of({}), kLong, "./run translate RUN");
  BOOST_TEST(lines.starts_with("next: ./run translate RUN   what the model writes\n      ./run lenet_mnist"), lines);
}

BOOST_AUTO_TEST_CASE(given_flags_are_kept) {
  const std::vector<Words> cases = {
      {"--data", "synthetic", "--dataset", "mnist", "--minibatch", "32", "--seed", "7"},
      {"--optimizer", "adam", "--beta1", "0.5", "--lr", "0.01", "--schedule", "constant"},
      {"--schedule", "step", "--milestones", "1,2", "--warmup", "none", "--precision", "bf16"},
      {"--base-lr", "0.2", "--base-minibatch", "16", "--scaling", "sqrt", "--warmup-epochs", "2"},
      {"--augment", "crop,mixup", "--pad", "3", "--recompute-bn", "3", "--fast", "--out", "there", "--quiet"},
  };
  for (const Words& words : cases) {
    const RunConfig given = flags_of(words);
    const std::vector<RunConfig> lines = advised(words);
    BOOST_REQUIRE(lines.size() == 3u);
    RunConfig linear = lines[0];
    BOOST_TEST(linear.batch.minibatch == 4 * given.batch.minibatch);
    BOOST_TEST(linear.learning.base_minibatch ==
               (given.learning.base_minibatch > 0 ? given.learning.base_minibatch : given.batch.minibatch));
    BOOST_TEST(linear.learning.lr == given.learning.lr);
    BOOST_TEST(linear.learning.scaling == "linear");
    BOOST_TEST((linear.learning.warmup != "none" && linear.learning.warmup_epochs > 0));
    BOOST_TEST(
        (linear.learning.optimizer == given.learning.optimizer && linear.learning.schedule == given.learning.schedule));
    RunConfig seeded = lines[1];
    BOOST_TEST(seeded.arithmetic.seed == given.arithmetic.seed + 1);
    seeded.arithmetic.seed = given.arithmetic.seed;
    seeded.out.folder = given.out.folder;  // flags of one call alone are not kept
    seeded.out.quiet = given.out.quiet;
    BOOST_TEST((flag_values(lenet_mnist(), seeded) == flag_values(lenet_mnist(), given)));
    BOOST_TEST(lines[2].looking.dry_run);
  }
}

BOOST_AUTO_TEST_CASE(a_larger_minibatch_takes_as_many_samples) {
  const RunConfig linear = advised({"--steps", "102", "--warmup-steps", "9"})[0];
  BOOST_TEST(linear.length.steps == 26);
  BOOST_TEST(linear.learning.warmup_steps == 3);
  BOOST_TEST(advised({"--epochs", "6"})[0].length.steps == 0);
}

BOOST_AUTO_TEST_CASE(a_minibatch_beyond_the_data_is_not_named) {
  BOOST_TEST(
      advised({"--minibatch", "64"}, {.samples = 255, .minibatch = 64, .steps_per_epoch = 3, .steps = 3}).size() == 2u);
}

BOOST_AUTO_TEST_CASE(words_are_quoted) {
  const RunConfig config = flags_of({"--data", "my images"});
  BOOST_TEST(command_with(lenet_mnist(), config, {}) == "./run lenet_mnist --data 'my images'");
}

BOOST_AUTO_TEST_CASE(a_run_that_ends_in_its_warmup_is_told) {
  const auto note = [](const Words& words) {
    const RunConfig config = flags_of(words);
    return rate_note({}, config.learning, make_plan(config, 640));
  };
  BOOST_TEST(note({"--epochs", "2", "--warmup-epochs", "1"}) == "");
  BOOST_TEST(note({"--epochs", "2", "--warmup", "none"}) == "");
  BOOST_TEST(note({"--epochs", "2", "--warmup-epochs", "3"}) ==
             "NOTE: the warmup takes 30 steps, the run 20: the learning rate does not get to 0.05");
  BOOST_TEST(note({"--epochs", "0"}).starts_with("NOTE: no step is taken"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::advice_test
