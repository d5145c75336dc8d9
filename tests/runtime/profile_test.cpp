#include "runtime/profile.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "tests/support/hand_step.h"

namespace kb::profile_test {
namespace {

const auto kClose = boost::test_tools::tolerance(1e-12);

Step step(FusionClass cls, int32_t reduction = -1, int64_t bytes = 0) {
  Step result = test::hand_step(cls, reduction);
  result.operands = {{reduction, 0}};
  result.extents = {bytes};
  return result;
}

// Returns a schedule of two buckets. The second one is under way while the first is waited for.
Schedule two_buckets() {
  Schedule schedule;
  schedule.steps = {step(FusionClass::pointwise), step(FusionClass::exchange, 4, 100),
                    step(FusionClass::pointwise), step(FusionClass::exchange, 2, 50),
                    step(FusionClass::wait, 4),   step(FusionClass::wait, 2),
                    step(FusionClass::pointwise)};
  return schedule;
}

const std::vector<StepTime> kTimes = {{0, 2},           {2, 0.5},        {2.5, 3}, {5.5, 0.5},
                                      {6, 4, 2.25, 10}, {10, 1, 10, 11}, {11, 1}};

}  // namespace

BOOST_AUTO_TEST_SUITE(profile)

BOOST_AUTO_TEST_CASE(programs_share_a_clock) {
  Profile profile;
  profile.copies.push_back({"inputs", 1000, 0, 1.5});
  BOOST_TEST(profile.end() == 1.5);
  profile.append(std::vector<StepTime>{{0, 1}, {1.25, 2}});
  BOOST_TEST(profile.end() == 4.75);
  profile.append(kTimes);
  BOOST_TEST(profile.end() == 16.75);
  BOOST_REQUIRE(profile.steps.size() == 9u);
  BOOST_TEST(profile.steps[0].start == 1.5);
  BOOST_TEST(profile.steps[6].start == 10.75);
  BOOST_TEST(profile.steps[6].reduction_start == 7.0);
  BOOST_TEST(profile.steps[6].reduction_end == 14.75);
}

BOOST_AUTO_TEST_CASE(reductions_of_a_measured_program) {
  Profile before;
  before.append(std::vector<StepTime>{{0, 7}});
  before.append(kTimes);
  const Overlap overlap = measured_overlap(two_buckets(), std::span(before.steps).subspan(1));
  BOOST_REQUIRE(overlap.reductions.size() == 2u);
  const ReductionTimes &first = overlap.reductions[0], &second = overlap.reductions[1];
  BOOST_TEST(first.reduction == 4);
  BOOST_TEST(first.step == 1u);
  BOOST_TEST(first.bytes == 100);
  BOOST_TEST(first.ready == 2e-3, kClose);
  BOOST_TEST(first.start == 2.25e-3, kClose);
  BOOST_TEST(first.end == 10e-3, kClose);
  BOOST_TEST(first.exposed == 4e-3, kClose);
  BOOST_TEST(second.reduction == 2);
  BOOST_TEST(second.ready == 5.5e-3, kClose);
  BOOST_TEST(second.exposed == 1e-3, kClose);
  BOOST_TEST(overlap.step == 12e-3, kClose);
  BOOST_TEST(overlap.exposed == 5e-3, kClose);
  BOOST_TEST(overlap.compute == 7e-3, kClose);
  BOOST_TEST(overlap.communication == 8.75e-3, kClose);
}

// Predicted times, read as measured ones, give the prediction.
BOOST_AUTO_TEST_CASE(predicted_times_are_those_of_the_prediction) {
  const Schedule schedule = two_buckets();
  const std::vector<double> seconds{2, 0, 3, 0, 99, 99, 1};
  const ReductionSeconds reduction = [](int64_t bytes) { return 0.1 * static_cast<double>(bytes); };
  const Overlap expected = predict_overlap(schedule, seconds, reduction);
  const std::vector<StepTime> times = predicted_times(schedule, seconds, reduction);
  const Overlap got = measured_overlap(schedule, times);
  BOOST_TEST(got.step == expected.step, kClose);
  BOOST_TEST(got.compute == expected.compute, kClose);
  BOOST_TEST(got.exposed == expected.exposed, kClose);
  BOOST_TEST(got.communication == expected.communication, kClose);
  BOOST_REQUIRE(got.reductions.size() == 2u);
  for (size_t i = 0; i < 2; ++i) {
    const ReductionTimes &a = got.reductions[i], &b = expected.reductions[i];
    BOOST_TEST(a.step == b.step);
    BOOST_TEST(a.ready == b.ready, kClose);
    BOOST_TEST(a.start == b.start, kClose);
    BOOST_TEST(a.end == b.end, kClose);
    BOOST_TEST(a.exposed == b.exposed, kClose);
  }
  for (size_t s = 1; s < times.size(); ++s)
    BOOST_TEST(times[s].start == times[s - 1].start + times[s - 1].milliseconds, kClose);
}

BOOST_AUTO_TEST_CASE(times_of_another_program_are_refused) {
  BOOST_CHECK_THROW(measured_overlap(two_buckets(), std::span(kTimes).first(3)), InternalError);
  Schedule wait_alone;
  wait_alone.steps = {step(FusionClass::wait, 0)};
  BOOST_CHECK_THROW(measured_overlap(wait_alone, std::span(kTimes).first(1)), InternalError);
  BOOST_TEST(measured_overlap({}, {}).step == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::profile_test
