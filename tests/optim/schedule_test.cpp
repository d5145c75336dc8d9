#include "optim/schedule.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>

#include "graph/error.h"

namespace kb {
namespace {

// 90 epochs of 100 steps with the warmup of Goyal et al. 2017 for a minibatch of 8192: 0.1 to 3.2 over 5 epochs.
ScheduleSpec imagenet_hour() { return {"step", 3.2, 5, 0.1, {30, 60, 80}, 0.1, 100, 9000}; }

ScheduleSpec cosine(double warmup_epochs) { return {"cosine", 0.05, warmup_epochs, 0, {}, 0.1, 100, 1000}; }

void check_near(double got, double expected) { BOOST_TEST(got == expected, boost::test_tools::tolerance(1e-14)); }

}  // namespace

BOOST_AUTO_TEST_SUITE(schedule)

BOOST_AUTO_TEST_CASE(constant_is_constant) {
  LearningRate rate({"constant", 0.3, 0, 0, {}, 0.1, 10, 100});
  for (int64_t step : {0, 1, 50, 99, 1000}) BOOST_TEST(rate.at(step) == 0.3);
}

BOOST_AUTO_TEST_CASE(warmup_is_linear_in_steps) {
  LearningRate rate(imagenet_hour());
  BOOST_TEST(rate.at(0) == 0.1);
  check_near(rate.at(1), 0.1 + 3.1 / 500);
  check_near(rate.at(250), 0.5 * (0.1 + 3.2));
  check_near(rate.at(499), 0.1 + 3.1 * 499 / 500);
  BOOST_TEST(rate.at(500) == 3.2);
}

BOOST_AUTO_TEST_CASE(step_drops_at_epochs_counted_from_the_start) {
  LearningRate rate(imagenet_hour());
  BOOST_TEST(rate.at(2999) == 3.2);
  check_near(rate.at(3000), 0.32);
  check_near(rate.at(5999), 0.32);
  check_near(rate.at(6000), 0.032);
  check_near(rate.at(8999), 0.0032);
}

BOOST_AUTO_TEST_CASE(cosine_has_its_closed_form) {
  LearningRate rate(cosine(0));
  BOOST_TEST(rate.at(0) == 0.05);
  for (int64_t step : {1, 250, 500, 750, 999})
    check_near(rate.at(step), 0.025 * (1 + std::cos(std::numbers::pi * static_cast<double>(step) / 1000)));
  BOOST_TEST(std::abs(rate.at(1000)) < 1e-17);
  BOOST_TEST(std::abs(rate.at(2000)) < 1e-17);
}

BOOST_AUTO_TEST_CASE(cosine_begins_where_the_warmup_ends) {
  LearningRate rate(cosine(2));
  check_near(rate.at(100), 0.025);
  BOOST_TEST(rate.at(200) == 0.05);
  check_near(rate.at(600), 0.025);
}

BOOST_AUTO_TEST_CASE(a_warmup_of_part_of_a_step_changes_nothing_after_it) {
  ScheduleSpec spec = cosine(0.005);
  LearningRate rate(spec);
  BOOST_TEST(rate.at(0) == 0.0);
  check_near(rate.at(1), 0.025 * (1 + std::cos(std::numbers::pi * 0.5 / 999.5)));
}

BOOST_AUTO_TEST_CASE(scalars_follow_the_step) {
  SgdScalars scalars(LearningRate(cosine(0)), 0.9, 5e-4);
  auto at = scalars.at(500);
  BOOST_TEST(at.size() == 3u);
  BOOST_TEST(at[0].name == "learning_rate");
  check_near(at[0].value, 0.025);
  BOOST_TEST(at[1].name == "momentum");
  BOOST_TEST(at[1].value == 0.9);
  BOOST_TEST(at[2].name == "weight_decay");
  BOOST_TEST(at[2].value == 5e-4);
}

BOOST_AUTO_TEST_CASE(every_row_has_words_and_starts_at_the_reference) {
  for (const ScheduleShape& shape : schedule_shapes()) {
    BOOST_TEST(!shape.doc.empty());
    ScheduleSpec spec = cosine(0);
    spec.shape = shape.name;
    BOOST_TEST(LearningRate(spec).at(0) == 0.05, shape.name);
  }
}

BOOST_AUTO_TEST_CASE(mistakes_are_named) {
  auto message = [](ScheduleSpec spec) -> std::string {
    try {
      LearningRate rate(spec);
    } catch (const Error& error) {
      return error.what();
    }
    return "(nothing thrown)";
  };
  ScheduleSpec unknown = cosine(0), negative = cosine(0), warm = cosine(-1);
  unknown.shape = "sine";
  negative.learning_rate = -1;
  BOOST_TEST(message(unknown) == "schedule: expected one of constant, step, cosine, got 'sine'");
  BOOST_TEST(message(negative) == "schedule: learning rate: expected a finite number >= 0, got -1");
  BOOST_TEST(message(warm) == "schedule: warmup epochs: expected a number >= 0, got -1");
}

BOOST_AUTO_TEST_CASE(the_description_says_all) {
  BOOST_TEST(LearningRate(imagenet_hour()).description() ==
             "step from 3.2 over 9000 steps, x0.1 at epoch 30, 60, 80, after a linear warmup from 0.1 over 500 steps");
  BOOST_TEST(LearningRate(cosine(0)).description() == "cosine from 0.05 over 1000 steps");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb
