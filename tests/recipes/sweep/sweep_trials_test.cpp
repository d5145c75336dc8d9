// Tests how the command line of a sweep becomes those of its trials: points that the recipe does not take are refused
// before anything is trained, and the length of a trial follows from the sweep's flags.
#include "recipes/sweep/sweep_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "recipes/config/values.h"
#include "recipes/papers/table.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::sweep_trials_test {
namespace {

struct Definition {
  const Recipe recipe = find_recipe("mlp_mnist");
  SweepFlags flags;
  std::vector<std::string> words = {"--dataset",  "glyphs",   "--epochs",     "2",  "--target", "error=45%",
                                    "--schedule", "constant", "--validation", "500"};

  Definition() {
    flags.grid = "minibatch=64,128";
    flags.search = {"lr=x0.5:2"};
  }
  SweepDefinition define() const { return define_sweep(recipe, flags, words, 1); }
  PlannedTrial trial(const std::map<std::string, std::string>& values, int64_t most_steps = 0) const {
    PlannedTrial trial;
    trial.name = "kn64-p00";
    trial.minibatch = 64;
    trial.seed = 1;
    trial.values = values;
    trial.most_steps = most_steps;
    return trial;
  }
};

// Writes 300 training samples and 20 to test: a folder may hold fewer than the set of its name has.
void write_small_mnist(const std::filesystem::path& folder) {
  const auto text = [](int64_t magic, std::vector<int64_t> numbers, size_t bytes) {
    numbers.insert(numbers.begin(), magic);
    std::string text;
    for (const int64_t number : numbers)
      for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift);
    return text + std::string(bytes, '\1');
  };
  for (const auto& [part, count] : {std::pair<const char*, int64_t>{"train", 300}, {"t10k", 20}}) {
    test::write_file(folder / fmt::format("{}-images-idx3-ubyte", part),
                     text(0x803, {count, 28, 28}, static_cast<size_t>(count) * 28 * 28));
    test::write_file(folder / fmt::format("{}-labels-idx1-ubyte", part),
                     text(0x801, {count}, static_cast<size_t>(count)));
  }
  test::write_file(folder / "variant.txt", "train 300\ntest 20\n");
}

std::string value_of(const SweepDefinition& definition, const std::string& flag) {
  const auto at = std::find(definition.words.begin(), definition.words.end(), flag);
  return at == definition.words.end() ? "" : *std::next(at);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sweep_trials, Definition)

// The ends and the middle of the range are whole numbers, 16, 64 and 256; other points are not.
BOOST_AUTO_TEST_CASE(a_point_between_the_ends_that_is_not_taken_is_refused) {
  flags.search = {"hidden=16:256:log"};
  flags.trials = 1;
  BOOST_TEST(define().trials == 1);
  flags.cap = 7;
  BOOST_TEST(define().cap == 7);
  const auto widens = [&](const char* search) {
    flags.search = {search};
    const SweepRange range = define().ranges[0];
    return std::pair(range.widens_below, range.widens_above);
  };
  // Two widenings add two thirds of the range, so that the second one begins at 0.00033 and the third below 0.
  BOOST_TEST((widens("weight-decay=0.001:0.002") == std::pair(true, true)));
  BOOST_TEST((widens("weight-decay=0.001:0.003") == std::pair(false, true)));
  BOOST_TEST((widens("momentum=0.5:0.9") == std::pair(true, false)));
  flags.search = {"hidden=16:256:log"};
  flags.trials = 4;
  BOOST_CHECK_EXCEPTION(define(), UsageError,
                        test::says("--hidden", "a whole number", "'22.63'", "--search FLAG=A,B,C"));
}

BOOST_AUTO_TEST_CASE(what_the_sweep_sets_itself_is_refused) {
  const std::vector<std::string> given = words;
  const auto refuses = [&](const std::vector<std::string>& more, const std::string& message) {
    words = given;
    words.insert(words.end(), more.begin(), more.end());
    BOOST_CHECK_EXCEPTION(define(), UsageError, test::says(message));
  };
  refuses({"--out", "a"}, "--out: expected no such flag beside a sweep, whose folder is --store");
  refuses({"--mllog", "a"}, "--mllog: expected no sweep");
  refuses({"--stop-at", "5st"}, "--stop-at: expected no such flag beside a sweep");
  flags.search = {"seed=1,2"};
  refuses({}, "--search: expected a flag with a value that changes what is computed, got --seed");
  flags.search = {"label-smoothing=x0.5:2"};
  refuses({}, "a value above 0 of --label-smoothing, which the range is relative to");
  flags.search = {"lr=x0.5:2", "momentum=0.5:0.9"};
  flags.points = "even";
  flags.trials = 3;
  refuses({}, "--trials: expected, with --points even, as many values for each of 2 flags: 4, got 3");
}

BOOST_AUTO_TEST_CASE(a_flag_of_a_group_is_searched) {
  flags.search = {"lr.matrices=0.01:0.04:log"};
  words.insert(words.end(), {"--optimizer.matrices", "muon"});
  const std::vector<std::string> trial_words = trial_of(recipe, define(), trial({{"lr.matrices", "0.03"}})).words;
  const auto groups = std::find(trial_words.begin(), trial_words.end(), "--groups");
  BOOST_REQUIRE((groups != trial_words.end()));
  BOOST_TEST(*std::next(groups) == "matrices --optimizer muon --lr 0.03");
}

BOOST_AUTO_TEST_CASE(a_minibatch_that_no_run_can_have_is_refused_before_any_is_trained) {
  flags.grid = "minibatch=64,100000";
  BOOST_CHECK_EXCEPTION(define(), Error,
                        test::says("batch.minibatch: expected at most the", "training samples, got 100000"));
  flags.grid = "minibatch=16:64:x2";
  flags.search = {};
  words.insert(words.end(), {"--scaling", "adascale", "--base-minibatch", "32", "--per-worker", "8"});
  BOOST_CHECK_EXCEPTION(
      define(), Error,
      test::says("learning.scaling = adascale: expected batch.minibatch to be at least learning.base_minibatch, 32, "
                 "got 16"));
  flags.grid = "minibatch=32:64:x2";
  BOOST_TEST(define().trials == 1);
}

BOOST_AUTO_TEST_CASE(a_cap_is_the_length_where_the_rate_is_constant) {
  SweepDefinition definition = define();
  const auto config = [&](int64_t most) { return config_of_trial(recipe, definition, trial({{"lr", "0.1"}}, most)); };
  BOOST_TEST(config(0).length.steps == 0);
  BOOST_TEST(config(0).length.epochs == 2);
  BOOST_TEST(config(100'000).length.steps == 100'000);
  BOOST_TEST(config(100'000).length.stop_at.text() == "");
  std::ranges::replace(definition.words, "constant", "cosine");
  BOOST_TEST(config(50).length.steps == 0);
  BOOST_TEST(config(50).length.stop_at.text() == "50st");
  BOOST_TEST(config((int64_t{1} << 31) - 1).length.stop_at.text() == "2147483647st");
}

// Further seeds then have --seed-cap as their length, as with --schedule constant.
BOOST_AUTO_TEST_CASE(a_schedule_free_optimizer_has_a_constant_rate_without_the_flag) {
  words = {"--dataset", "glyphs", "--epochs", "2", "--target", "error=45%", "--validation", "500"};
  BOOST_TEST(!has_constant_rate(define()));
  words.insert(words.end(), {"--optimizer", "schedule-free"});
  const SweepDefinition definition = define();
  BOOST_TEST(has_constant_rate(definition));
  BOOST_TEST(config_of_trial(recipe, definition, trial({{"lr", "0.1"}}, 50)).length.steps == 50);
}

BOOST_AUTO_TEST_CASE(values_are_refused_but_no_other_fault_is_taken_for_theirs) {
  flags.search = {"momentum=x0.9:1.1"};
  SweepDefinition definition = define();
  BOOST_TEST(refusal_of(recipe, definition, trial({{"momentum", "0.95"}})) == "");
  BOOST_TEST(refusal_of(recipe, definition, trial({{"momentum", "1.02"}})).find("--momentum") == 0u);
  definition.words.push_back("--nonsense");
  BOOST_CHECK_EXCEPTION(refusal_of(recipe, definition, trial({{"momentum", "1.02"}})), UsageError,
                        test::says("--nonsense"));
}

BOOST_AUTO_TEST_CASE(a_tenth_of_the_set_that_is_there_is_held_out) {
  const test::TemporaryDirectory data;
  write_small_mnist(data.path());
  words = {"--data", data.path().string(), "--epochs", "2", "--target", "error=45%"};
  const SweepDefinition definition = define();
  BOOST_TEST(value_of(definition, "--validation") == "30");
  BOOST_TEST(value_of(definition, "--keep") == "2");
}

// Each trial of such a minibatch would fail.
BOOST_AUTO_TEST_CASE(a_minibatch_larger_than_the_set_that_is_there_is_refused) {
  const test::TemporaryDirectory data;
  write_small_mnist(data.path());
  flags.grid = "minibatch=64,512";
  words = {"--data", data.path().string(), "--epochs", "2", "--target", "error=45%"};
  BOOST_CHECK_EXCEPTION(define(), Error,
                        test::says("batch.minibatch: expected at most the 270 training samples, got 512"));
  words.insert(words.end(), {"--validation", "100"});
  BOOST_CHECK_EXCEPTION(define(), Error,
                        test::says("batch.minibatch: expected at most the 200 training samples, got 512"));
  flags.grid = "minibatch=64,200";
  BOOST_TEST(define().minibatches.back() == 200);
  words.back() = "300";
  BOOST_CHECK_EXCEPTION(define(), Error, test::says("judging.validation: expected less than the 300 training samples"));
  // If the data are not here, they count as the published set of that name, MNIST.
  words = {"--data", (data / "absent").string(), "--target", "error=45%", "--validation", "5000"};
  flags.grid = "minibatch=64,512";
  BOOST_TEST(define().minibatches.back() == 512);
  flags.grid = "minibatch=64,55001";
  BOOST_CHECK_EXCEPTION(define(), Error, test::says("expected at most the 55000 training samples, got 55001"));
}

// The message must not speak of --validation, which the sweep sets itself and nobody gave.
BOOST_AUTO_TEST_CASE(noise_is_refused_by_its_own_flag) {
  words = {"--data", "synthetic", "--epochs", "2", "--target", "error=45%"};
  BOOST_CHECK_EXCEPTION(define(), UsageError, [](const UsageError& error) {
    return test::says("--data synthetic: expected a data set", "got noise\n  hint:     --data DIR")(error) &&
           !test::says("--validation")(error);
  });
}

BOOST_AUTO_TEST_CASE(a_target_that_no_trial_reaches_is_refused) {
  std::replace(words.begin(), words.end(), std::string("error=45%"), std::string("error=0"));
  BOOST_CHECK_EXCEPTION(define(), Error,
                        test::says("length.target: expected a share that some training can be better than"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sweep_trials_test
