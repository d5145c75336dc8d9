#include "recipes/train/learning_watch.h"

#include "recipes/task/inputs.h"
#include "tests/support/support.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

namespace kb::learning_watch_test {
namespace {

constexpr double kLr = 0.1;
const double kGuess = std::log(10);

using test::contains;

// Gives the watch steps [begin, end), all of one loss, and returns all that it says.
std::string steps(LearningWatch& watch, int64_t begin, int64_t end, double loss) {
  std::string said;
  for (int64_t step = begin; step < end; ++step) said += watch.step(step, loss, kLr);
  return said;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(learning_watch)

BOOST_AUTO_TEST_CASE(a_loss_at_guessings_level_is_told_once) {
  LearningWatch watch(10, 0);
  BOOST_TEST(steps(watch, 0, 60, kGuess) == "");
  const std::string note = watch.evaluation(60, true, 0.9, 1000);
  BOOST_TEST(note.starts_with("NOTE: nothing is learned: after 60 steps the training loss is 2.303, the mean of 60 "
                              "steps, and guessing among 10 classes has ln 10 = 2.303\n  check: "),
             note);
  steps(watch, 60, 200, kGuess);
  BOOST_TEST(watch.evaluation(200, false, 0.9, 1000) == "");
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_worse_than_a_guess_is_told) {
  LearningWatch watch(10, 0);
  steps(watch, 0, 60, 40);
  BOOST_TEST(contains(watch.evaluation(60, true, 0.89, 1000), "nothing is learned"));
}

// A loss that may be negative has no factor by which it grew.
BOOST_AUTO_TEST_CASE(a_first_loss_that_is_not_above_0_tells_nothing) {
  for (const double first : {0.0, -1.0}) {
    LearningWatch watch(0, 0);
    BOOST_TEST(watch.step(0, first, kLr) + watch.step(1, 5000, kLr) == "");
  }
}

BOOST_AUTO_TEST_CASE(what_learns_is_left_alone) {
  for (const auto& [loss, error] : {std::pair(0.9 * kGuess, 0.8), {kGuess, 0.5}, {0.1, 0.9}}) {
    LearningWatch watch(10, 0);
    steps(watch, 0, 60, loss);
    BOOST_TEST(watch.evaluation(60, true, error, 1000) == "");
  }
  LearningWatch watch(10, 0);  // too few steps to tell
  steps(watch, 0, 49, kGuess);
  BOOST_TEST(watch.evaluation(49, true, 0.9, 1000) == "");
  LearningWatch classless(0, 0);  // no number of classes says what guessing gives
  steps(classless, 0, 1200, kGuess);
  BOOST_TEST(classless.evaluation(1200, true, 0.9, 1000) == "");
}

// A first loss of 0.001 is luck: a loss of ln 10 is no divergence. No class has 0 samples by accident.
BOOST_AUTO_TEST_CASE(a_lucky_start_and_an_empty_class_say_nothing) {
  LearningWatch lucky(10, 0), empty(3, 0, {0, 5, 5});
  BOOST_TEST(lucky.step(0, 0.001, kLr) + lucky.step(1, kGuess, kLr) == "");
  BOOST_TEST(empty.evaluation(1000, false, 1, 10) == "");
}

BOOST_AUTO_TEST_CASE(a_warmup_is_waited_for) {
  LearningWatch watch(10, 100);
  steps(watch, 0, 140, kGuess);
  BOOST_TEST(watch.evaluation(140, false, 0.9, 1000) == "");
  steps(watch, 140, 160, kGuess);
  BOOST_TEST(contains(watch.evaluation(160, false, 0.9, 1000), "after 160 steps, 100 of them warmup, the"));
}

BOOST_AUTO_TEST_CASE(long_epochs_are_not_waited_for) {
  LearningWatch guessing(10, 0), other(10, 0);
  BOOST_TEST(contains(steps(guessing, 0, 1000, kGuess), "after 1000 steps the training loss is 2.303"));
  BOOST_TEST(steps(other, 0, 5000, 17) == "");  // a loss of 17 may be no cross-entropy
}

BOOST_AUTO_TEST_CASE(a_loss_a_thousand_times_the_first_is_told_once) {
  LearningWatch watch(10, 0);
  BOOST_TEST(watch.step(0, 2.5, kLr) == "");
  BOOST_TEST(watch.step(1, 2499, kLr) == "");
  const std::string note = watch.step(2, 2501, kLr);
  BOOST_TEST(note.starts_with("NOTE: the training loss is 2501 at step 2, over 1,000 times the first, 2.5: "), note);
  BOOST_TEST(contains(note, "learning.lr, which is 0.1 there"));
  BOOST_TEST(watch.step(3, 1e9, kLr) == "");
  LearningWatch resumed(10, 0), known(10, 0);
  BOOST_TEST(!resumed.passed_step(0, 2.5));
  BOOST_TEST(resumed.step(70, 2600, kLr) != "");
  known.passed_step(0, 2.5);
  BOOST_TEST(known.passed_step(69, 2501));
  BOOST_TEST(known.is_diverging());
  BOOST_TEST(known.step(70, 2600, kLr) == "");
}

BOOST_AUTO_TEST_CASE(no_error_at_all_in_the_first_epoch_is_told_once) {
  LearningWatch watch(10, 0);
  BOOST_TEST(watch.evaluation(0, true, 0, 37) == "");
  BOOST_TEST(watch.evaluation(9, true, 0.01, 37) == "");
  BOOST_TEST(watch.evaluation(10, true, 0, 37)
                 .starts_with("NOTE: not one of 37 test samples is wrong in the first epoch\n  check: "));
  BOOST_TEST(watch.evaluation(10, true, 0, 37) == "");
  LearningWatch later(10, 0);
  BOOST_TEST(later.evaluation(20, false, 0, 37) == "");
}

BOOST_AUTO_TEST_CASE(an_epoch_no_better_than_the_first_step_diverged) {
  LearningWatch watch(10, 0);
  watch.step(0, 2.5, kLr);
  BOOST_TEST(watch.epoch(1, 90, 90, 9) == "");  // too few steps to tell
  BOOST_TEST(watch.epoch(2, 180, 90, 2.46) == "");
  BOOST_TEST(!watch.is_diverging());
  BOOST_TEST(watch.epoch(3, 270, 90, 2.46) ==
             "the mean training loss of epoch 3 is 2.46, no better than 0.98 x that of step 0, which is 2.5");
  BOOST_TEST(watch.is_diverging());
  BOOST_TEST(watch.epoch(4, 360, 90, 2.4) == "");
  BOOST_TEST(!watch.is_diverging());
  BOOST_TEST(watch.epoch(5, 450, 90, NAN) != "");
}

BOOST_AUTO_TEST_CASE(an_epoch_of_the_warmup_or_without_the_loss_of_step_0_is_not_judged) {
  LearningWatch warm(10, 100), late(10, 0), negative(10, 0), again(10, 0);
  warm.passed_step(0, 2.5);
  negative.passed_step(0, -2.5);
  again.passed_step(0, 2.5);
  BOOST_TEST(warm.epoch(2, 320, 260, 9) == "");  // began in the warmup
  BOOST_TEST(warm.epoch(3, 299, 60, 9) == "");
  BOOST_TEST(warm.epoch(3, 300, 60, 9) != "");
  late.step(60, 2.5, kLr);
  BOOST_TEST(late.epoch(2, 320, 60, 9) == "");
  BOOST_TEST(negative.epoch(2, 320, 60, 9) == "");
  BOOST_TEST(again.epoch(2, 320, 60, 9) != "");
}

BOOST_AUTO_TEST_CASE(the_error_of_one_predicted_class_is_told_once) {
  LearningWatch watch(3, 0, {12, 12, 13});
  BOOST_TEST(watch.evaluation(40, false, 25.0 / 37, 37) == "");  // too early to tell
  BOOST_TEST(watch.evaluation(60, false, 26.0 / 37, 37) == "");
  BOOST_TEST(watch.evaluation(60, false, 24.0 / 37, 37)
                 .starts_with("NOTE: 13 of 37 test samples are right after 60 steps: as many as class 2 has"));
  BOOST_TEST(watch.evaluation(80, false, 24.0 / 37, 37) == "");
  LearningWatch unknown(3, 0);
  BOOST_TEST(unknown.evaluation(60, false, 24.0 / 37, 37) == "");
}

BOOST_AUTO_TEST_CASE(labels_of_one_class_are_told) {
  const auto part = [](std::vector<int32_t> labels) {
    Split split{{1, 1, 1}, {}, std::move(labels)};
    for (size_t i = 0; i < split.labels.size(); ++i) split.pixels.push_back(static_cast<uint8_t>(i));
    return split;
  };
  const auto note = [&](std::vector<int32_t> train, std::vector<int32_t> test) {
    return one_class_note(make_dataset("set", {"dark", "bright"}, part(std::move(train)), part(std::move(test))));
  };
  BOOST_TEST(note({0, 1}, {1, 0}) == "");
  BOOST_TEST(note({1, 1, 1}, {1, 0}) == "NOTE: all 3 training labels of set are 1 (bright): there is nothing to learn");
  BOOST_TEST(note({0, 1}, {0, 0}) == "NOTE: all 2 test labels of set are 0 (dark): its error says nothing");
  BOOST_TEST(note({0, 1}, {0}) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::learning_watch_test
