#include "optim/schedule.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>

#include "graph/error.h"
#include "tests/support/says.h"

namespace kb::schedule_test {
namespace {

// Returns 90 epochs of 100 steps with the warmup of Goyal et al. 2017 for a minibatch of 8192: the rate goes from 0.1
// to 3.2 in 5 epochs.
ScheduleSpec imagenet_hour() {
  return {.shape = "step",
          .learning_rate = 3.2,
          .warmup_epochs = 5,
          .warmup_start = 0.1,
          .milestones = {30, 60, 80},
          .steps_per_epoch = 100,
          .total_steps = 9000};
}

ScheduleSpec shaped(const std::string& shape, double warmup_epochs = 0) {
  return {.shape = shape,
          .learning_rate = 0.05,
          .warmup_epochs = warmup_epochs,
          .milestones = {4},
          .steps_per_epoch = 100,
          .total_steps = 1000};
}

ScheduleSpec cosine(double warmup_epochs) { return shaped("cosine", warmup_epochs); }

std::string message(const ScheduleSpec& spec) {
  return test::error_of([&] { LearningRate rate(spec); });
}

void check_near(double got, double expected) { BOOST_TEST(got == expected, boost::test_tools::tolerance(1e-14)); }

}  // namespace

BOOST_AUTO_TEST_SUITE(schedule)

BOOST_AUTO_TEST_CASE(constant_is_constant) {
  LearningRate rate(shaped("constant"));
  for (int64_t step : {0, 1, 50, 999, 9000}) BOOST_TEST(rate.at(step) == 0.05);
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

BOOST_AUTO_TEST_CASE(polynomial_has_its_closed_form) {
  ScheduleSpec square = shaped("polynomial"), line = shaped("polynomial");
  line.power = 1;
  for (int64_t step : {0, 1, 250, 999}) {
    const double left = 1 - static_cast<double>(step) / 1000;
    check_near(LearningRate(square).at(step), 0.05 * left * left);
    check_near(LearningRate(line).at(step), 0.05 * left);
  }
  BOOST_TEST(LearningRate(square).at(1000) == 0);
}

// The MLPerf reference of LARS trains ResNet-50 so: after two epochs of warmup from 0 to the peak, here 10, the rate
// falls with power 2 to 1e-4 over (train steps - warmup steps + 1) steps.
BOOST_AUTO_TEST_CASE(mlperf_has_its_closed_form) {
  ScheduleSpec spec = shaped("mlperf", 2);
  spec.learning_rate = 10;
  spec.end_rate = 1e-4;
  LearningRate rate(spec);
  for (int64_t step : {0, 1, 100, 199}) check_near(rate.at(step), 10 * static_cast<double>(step) / 200);
  for (int64_t step : {200, 201, 600, 999}) {
    const double left = 1 - static_cast<double>(step - 200) / (1000 - 200 + 1);
    check_near(rate.at(step), 1e-4 + (10 - 1e-4) * left * left);
  }
}

BOOST_AUTO_TEST_CASE(an_end_rate_is_where_the_shape_ends) {
  for (const char* shape : {"polynomial", "cosine"}) {
    ScheduleSpec spec = shaped(shape);
    spec.end_rate = 0.01;
    check_near(LearningRate(spec).at(0), 0.05);
    check_near(LearningRate(spec).at(500), 0.01 + 0.04 * (std::string(shape) == "cosine" ? 0.5 : 0.25));
    check_near(LearningRate(spec).at(1000), 0.01);
  }
}

BOOST_AUTO_TEST_CASE(one_cycle_goes_up_and_down_and_ends_far_below) {
  LearningRate rate(shaped("one-cycle"));
  check_near(rate.at(0), 0.002);
  check_near(rate.at(225), 0.5 * (0.002 + 0.05));
  check_near(rate.at(450), 0.05);
  check_near(rate.at(675), 0.5 * (0.002 + 0.05));
  check_near(rate.at(900), 0.002);
  check_near(rate.at(950), 0.5 * (0.002 + 2e-7));
  BOOST_TEST(std::abs(rate.at(1000) - 2e-7) < 1e-17);
  for (int64_t step = 0; step < 1000; ++step) {
    BOOST_TEST(rate.at(step) > 0);
    BOOST_TEST((rate.at(step) < rate.at(step + 1)) == (step < 450));
  }
}

// After a warmup of 200 steps the last share of the 800 that follow decays.
BOOST_AUTO_TEST_CASE(wsd_is_constant_and_then_falls_to_the_end_rate) {
  for (const double share : {0.2, 0.5, 1.0}) {
    ScheduleSpec line = shaped("wsd", 2), root = shaped("wsd-sqrt", 2);
    line.decay_share = root.decay_share = share;
    line.end_rate = root.end_rate = 0.01;
    const double begin = 1000 - share * 800;
    for (int64_t step = 200; step <= 1000; ++step) {
      const double x = std::max(0.0, (static_cast<double>(step) - begin) / (1000 - begin));
      check_near(LearningRate(line).at(step), 0.05 - 0.04 * x);
      BOOST_TEST(LearningRate(root).at(step) == 0.05 - 0.04 * std::sqrt(x), boost::test_tools::tolerance(1e-7));
    }
    for (int64_t step : {0, 1, 100}) check_near(LearningRate(line).at(step), 0.05 * static_cast<double>(step) / 200);
  }
}

BOOST_AUTO_TEST_CASE(wsd_decays_in_a_fifth_of_the_steps_unless_it_is_told) {
  LearningRate line(shaped("wsd")), root(shaped("wsd-sqrt"));
  for (int64_t step : {0, 799, 800}) BOOST_TEST(line.at(step) == 0.05);
  check_near(line.at(850), 0.05 * 0.75);
  BOOST_TEST(line.at(999) == 0.05 / 200, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(root.at(800) == 0.05);
  check_near(root.at(850), 0.05 * 0.5);
  check_near(root.at(898), 0.05 * 0.3);
  for (const LearningRate& rate : {line, root}) BOOST_TEST(std::abs(rate.at(1000)) < 1e-16);
}

// A model of Vaswani et al. 2017 has the rate d^-0.5 min(t^-0.5, t W^-1.5), which is (d W)^-0.5 at the end of the
// warmup.
BOOST_AUTO_TEST_CASE(inverse_sqrt_has_its_closed_form) {
  const double width = 512, warmup = 200;
  ScheduleSpec spec = shaped("inverse-sqrt", 2);
  spec.learning_rate = 1 / std::sqrt(width * warmup);
  LearningRate rate(spec);
  for (int64_t step : {0, 1, 100, 199, 200, 201, 400, 800, 999}) {
    const double t = static_cast<double>(step);
    check_near(rate.at(step), step < 200 ? t * std::pow(warmup, -1.5) / std::sqrt(width) : 1 / std::sqrt(width * t));
  }
}

// The phases are those of Akiba et al. 2017, section 3.2.
BOOST_AUTO_TEST_CASE(slow_start_has_the_papers_phases) {
  ScheduleSpec spec = shaped("slow-start");
  spec.learning_rate = 12.8;
  spec.total_steps = 9000;
  const LearningRate rate(spec);
  const std::pair<int64_t, double> points[] = {{0, 0.5},     {3999, 0.5},  {4000, 0.075}, {6999, 0.075},
                                               {7000, 0.01}, {8499, 0.01}, {8500, 0.001}, {8999, 0.001}};
  for (const auto& [step, multiplier] : points) check_near(rate.at(step), 12.8 * multiplier);
}

// The growth leaves out 50 steps of before; with 100 in front of it and 300 behind it, which count as 3 each, the run
// has 1050 of them.
BOOST_AUTO_TEST_CASE(a_growth_takes_the_schedule_further_and_may_move_the_rate) {
  ScheduleSpec spec = shaped("polynomial");
  spec.power = 1;
  spec.total_steps = 400;
  spec.growths = {{.from = 100, .steps = 3, .skipped = 50, .rate = 1.5}};
  LearningRate rate(spec);
  for (int64_t step : {0, 50, 99}) check_near(rate.at(step), 0.05 * (1 - static_cast<double>(step) / 1050));
  for (int64_t step : {100, 101, 399})
    check_near(rate.at(step), 1.5 * 0.05 * (1 - (150 + 3 * static_cast<double>(step - 100)) / 1050));
  BOOST_TEST(rate.description() == "polynomial of power 1 over 400 steps, times 1.5 from step 100 on");
}

BOOST_AUTO_TEST_CASE(each_growth_counts_from_the_one_before) {
  ScheduleSpec spec = shaped("polynomial");
  spec.power = 1;
  spec.growths = {{.from = 100, .steps = 3}, {.from = 200, .steps = 0.5}, {.from = 400, .steps = 1}};
  const LearningRate rate(spec);
  for (const auto& [step, position] : {std::pair(150, 250), {200, 400}, {300, 450}, {400, 500}, {500, 600}})
    check_near(rate.at(step), 0.05 * (1 - static_cast<double>(position) / 1100));
}

// In binary 0.29 x 100 is a hair less than the 29 steps of an epoch, and 0.29 x 99 = 28.71 is none.
BOOST_AUTO_TEST_CASE(rounding_puts_off_no_milestone) {
  ScheduleSpec spec = shaped("step");
  spec.milestones = {1};
  spec.steps_per_epoch = 29;
  spec.growths = {{.from = 0, .steps = 0.29}};
  BOOST_TEST(0.29 * 100 < 29);
  const LearningRate rate(spec);
  BOOST_TEST(rate.at(99) == 0.05);
  check_near(rate.at(100), 0.005);
  BOOST_TEST(rate.epoch(99) == 28.71 / 29, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(rate.epoch(100) == 1);
}

// Each part is the schedule of a run of its steps, with the warmup of the part.
BOOST_AUTO_TEST_CASE(a_restart_begins_the_schedule_anew) {
  for (const char* shape : {"cosine", "polynomial", "step", "inverse-sqrt"}) {
    ScheduleSpec spec = shaped(shape, 2);
    spec.growths = {{.from = 700, .rate = 0.5, .restarts = true, .warmup_epochs = 1}};
    ScheduleSpec first = shaped(shape, 2), second = shaped(shape, 1);
    first.total_steps = 700;
    second.total_steps = 300;
    const LearningRate rate(spec), before(first), after(second);
    for (int64_t step = 0; step < 700; ++step) BOOST_TEST(rate.at(step) == before.at(step));
    for (int64_t step = 0; step < 300; ++step) BOOST_TEST(rate.at(700 + step) == after.at(step) / 2);
  }
}

BOOST_AUTO_TEST_CASE(a_restart_within_a_growth_measures_in_epochs) {
  ScheduleSpec spec = shaped("cosine");
  spec.growths = {{.from = 600, .steps = 4, .restarts = true, .warmup_epochs = 2}};
  spec.total_steps = 700;
  const LearningRate rate(spec);
  check_near(rate.at(625), 0.05 / 2);  // 25 steps count as the first 100 of the warmup of 200
  check_near(rate.at(650), 0.05);
  check_near(rate.at(675), 0.05 / 2);
}

BOOST_AUTO_TEST_CASE(constant_warmup_jumps_where_it_ends) {
  ScheduleSpec spec = imagenet_hour();
  spec.warmup = "constant";
  LearningRate rate(spec);
  for (int64_t step : {0, 1, 499}) BOOST_TEST(rate.at(step) == 0.1);
  BOOST_TEST(rate.at(500) == 3.2);
}

// 100 steps are 100 / 11 epochs of 11, which times 11 is a hair above 100.
BOOST_AUTO_TEST_CASE(a_warmup_given_in_steps_takes_as_many) {
  ScheduleSpec spec = shaped("constant", 100.0 / 11);
  spec.steps_per_epoch = 11;
  spec.warmup = "constant";
  BOOST_TEST(spec.warmup_epochs * 11 > 100);
  const LearningRate rate(spec);
  BOOST_TEST(rate.at(99) == 0);
  BOOST_TEST(rate.at(100) == 0.05);
}

BOOST_AUTO_TEST_CASE(no_warmup_leaves_the_schedule_alone) {
  ScheduleSpec spec = cosine(5);
  spec.warmup = "none";
  for (int64_t step : {0, 1, 499, 700}) BOOST_TEST(LearningRate(spec).at(step) == LearningRate(cosine(0)).at(step));
}

BOOST_AUTO_TEST_CASE(every_row_has_words_and_keeps_below_the_reference) {
  for (const ScheduleShape& shape : offered_shapes({})) {
    BOOST_TEST(!shape.doc.empty());
    ScheduleSpec spec = shaped(std::string(shape.name), shape.needs_warmup ? 1 : 0);
    spec.warmup_start = spec.learning_rate;
    LearningRate rate(spec);
    double most = 0;
    for (int64_t step = 0; step < 1000; ++step) {
      BOOST_TEST(rate.at(step) > 0);
      most = std::max(most, rate.at(step));
    }
    check_near(most, shape.name == "slow-start" ? 0.025 : 0.05);
  }
}

BOOST_AUTO_TEST_CASE(mistakes_are_named) {
  ScheduleSpec negative = cosine(0), flat = shaped("step"), slow = cosine(1);
  negative.learning_rate = -1;
  flat.milestones = {};
  slow.warmup = "slow";
  BOOST_TEST(message(shaped("sine")) ==
             "schedule: expected one of constant, step, polynomial, mlperf, cosine, slow-start, one-cycle, wsd, "
             "wsd-sqrt, inverse-sqrt, got 'sine'");
  BOOST_TEST(message(slow) == "warmup: expected one of none, constant, gradual, got 'slow'");
  ScheduleSpec growing = shaped("step");
  growing.factor = -0.1;
  BOOST_TEST(message(growing) == "schedule: factor at a milestone: expected a finite number >= 0, got -0.1");
  BOOST_TEST(message(negative) == "schedule: learning rate: expected a finite number >= 0, got -1");
  BOOST_TEST(message(cosine(-1)) == "schedule: warmup epochs: expected a number >= 0, got -1");
  ScheduleSpec high = cosine(0), level = shaped("constant");
  high.end_rate = 0.1;
  level.end_rate = 0.01;
  BOOST_TEST(message(high) == "schedule: end rate: expected a number in [0, 0.05], the learning rate, got 0.1");
  BOOST_TEST(message(level) ==
             "schedule: constant does not read the end rate 0.01; those that do: polynomial, mlperf, cosine, wsd, "
             "wsd-sqrt");
  for (const double share : {0.0, 1.5}) {
    ScheduleSpec spec = shaped("wsd");
    spec.decay_share = share;
    BOOST_TEST(message(spec) ==
               fmt::format("schedule: share of the decay: expected a number in (0, 1], got {}", share));
  }
  ScheduleSpec cold = shaped("inverse-sqrt", 1);
  cold.warmup = "none";
  for (const ScheduleSpec& spec : {cold, shaped("inverse-sqrt")})
    BOOST_TEST(message(spec) ==
               "schedule: inverse-sqrt: expected a warmup, from whose steps its rate follows, got none\n"
               "  hint:     learning.warmup_epochs = 1, and learning.warmup_from = 0 where batch.minibatch does not "
               "exceed learning.base_minibatch");
  ScheduleSpec empty = cosine(0);
  empty.steps_per_epoch = 0;
  BOOST_TEST(message(empty) == "schedule: steps an epoch: expected at least 1, got 0");
  BOOST_TEST(message(flat) == "schedule: step: expected the epochs at which the learning rate drops, got none");
}

BOOST_AUTO_TEST_CASE(the_description_says_all) {
  BOOST_TEST(LearningRate(imagenet_hour()).description() ==
             "gradual warmup over 5 epochs = 500 steps from 0.1, then step over 8500 steps, x0.1 at epoch 30, 60, 80");
  BOOST_TEST(LearningRate(cosine(0)).description() == "cosine over 1000 steps");
  ScheduleSpec spec = shaped("polynomial", 1);
  spec.warmup = "constant";
  BOOST_TEST(LearningRate(spec).description() ==
             "constant warmup over 1 epoch = 100 steps at 0, then polynomial of power 2 over 900 steps");
  spec.end_rate = 1e-4;
  BOOST_TEST(LearningRate(spec).description() ==
             "constant warmup over 1 epoch = 100 steps at 0, then polynomial of power 2 to 0.0001 over 900 steps");
  BOOST_TEST(
      LearningRate(shaped("wsd-sqrt", 1)).description() ==
      "gradual warmup over 1 epoch = 100 steps from 0, then wsd-sqrt over 900 steps, decaying in the last 0.2 of "
      "them");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::schedule_test
