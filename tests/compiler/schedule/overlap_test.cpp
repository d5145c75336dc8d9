// Tests predict_overlap() on schedules made by hand, whose times have closed forms, and on compiled steps.
#include "compiler/schedule/overlap.h"

#include <boost/test/unit_test.hpp>

#include "compiler/pipeline/pipeline.h"
#include "compiler/schedule/plan_memory.h"
#include "graph/error.h"
#include "tests/support/compile_check.h"
#include "tests/support/hand_step.h"
#include "tests/support/says.h"

namespace kb::overlap_test {

namespace {

const auto kClose = boost::test_tools::tolerance(1e-12);

struct Timed {
  Schedule schedule;
  std::vector<double> seconds;
  int32_t buffer = 0;
  int64_t offset = 0;

  Timed& other_vector() { return ++buffer, offset = 0, *this; }
  Timed& compute(double time) { return add(FusionClass::pointwise, time, -1, 0); }
  Timed& start(int32_t reduction, int64_t bytes, double time = 0) {
    return add(FusionClass::exchange, time, reduction, bytes);
  }
  Timed& wait(int32_t reduction) { return add(FusionClass::wait, 100, reduction, 0); }  // the 100 seconds are ignored

  // Adds a step; the ranges of its vector lie one after the other.
  Timed& add(FusionClass cls, double time, int32_t reduction, int64_t bytes) {
    Step step = test::hand_step(cls, reduction);
    step.operands = {{buffer, offset}};
    step.extents = {bytes};
    offset += bytes;
    schedule.steps.push_back(step);
    seconds.push_back(time);
    return *this;
  }
  // Predicts the overlap when a reduction takes `latency` seconds and one second per byte.
  Overlap predict(int64_t bucket_bytes = 0, double latency = 0) const {
    return predict_overlap(
        schedule, seconds, [&](int64_t bytes) { return latency + static_cast<double>(bytes); }, bucket_bytes);
  }
};

Schedule compiled_step(const Target& target, int64_t bucket_bytes) {
  CompileOptions options;
  options.target = target;
  options.workers = {2, 1, bucket_bytes};
  options.groups = {{.rule = test::momentum_sgd()}};
  return compile(test::small_convnet(2), options).program.at(PartRole::final);
}

void check_sums(const Overlap& overlap) {
  BOOST_TEST(overlap.step == overlap.compute + overlap.exposed, kClose);
  double communication = 0, exposed = 0, lane = 0;
  for (const ReductionTimes& one : overlap.reductions) {
    BOOST_TEST(one.ready <= one.start);
    BOOST_TEST(lane <= one.start);
    lane = one.end;
    communication += one.end - one.start;
    exposed += one.exposed;
  }
  BOOST_TEST(overlap.communication == communication, kClose);
  BOOST_TEST(overlap.exposed == exposed, kClose);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(overlap)

BOOST_AUTO_TEST_CASE(without_reductions_a_step_is_its_compute) {
  const Overlap overlap = Timed().compute(2).compute(3).predict();
  BOOST_TEST(overlap.step == 5, kClose);
  BOOST_TEST(overlap.exposed == 0, kClose);
  BOOST_TEST(overlap.reductions.empty());
}

BOOST_AUTO_TEST_CASE(one_bucket_at_the_end_is_exposed_whole) {
  const Overlap overlap = Timed().compute(10).start(0, 4).wait(0).compute(1).predict();
  check_sums(overlap);
  BOOST_TEST(overlap.step == 15, kClose);
  BOOST_TEST(overlap.exposed == 4, kClose);
  BOOST_TEST(overlap.hidden() == 0, kClose);
}

BOOST_AUTO_TEST_CASE(what_compute_covers_costs_nothing) {
  const Overlap overlap = Timed().compute(5).start(0, 4).compute(5).wait(0).compute(1).predict();
  check_sums(overlap);
  BOOST_TEST(overlap.step == 11, kClose);
  BOOST_TEST(overlap.hidden() == 4, kClose);
}

// There are k buckets of b bytes, each after c seconds of compute. With c >= b only the last bucket is exposed, and the
// step takes k c + b; with c < b the network is always busy after the first c seconds, and the step takes c + k b.
BOOST_AUTO_TEST_CASE(equal_buckets) {
  const auto step = [](int buckets, double compute, int64_t bytes) {
    Timed timed;
    for (int i = 0; i < buckets; ++i) timed.compute(compute).start(i, bytes);
    for (int i = 0; i < buckets; ++i) timed.wait(i);
    const Overlap overlap = timed.predict();
    check_sums(overlap);
    return overlap.step;
  };
  for (const int buckets : {1, 2, 7}) {
    BOOST_TEST(step(buckets, 5, 3) == 5 * buckets + 3, kClose);
    BOOST_TEST(step(buckets, 2, 3) == 2 + 3 * buckets, kClose);
  }
}

// The network serves reductions in the order in which they are ready: one that is ready while another is under way
// waits for it. No second of waiting is counted twice.
BOOST_AUTO_TEST_CASE(times_of_every_bucket) {
  const Overlap overlap =
      Timed().compute(1).start(7, 10).compute(2).start(3, 4).wait(7).compute(1).wait(3).compute(2).predict();
  check_sums(overlap);
  BOOST_REQUIRE(overlap.reductions.size() == 2);
  const ReductionTimes &first = overlap.reductions[0], &second = overlap.reductions[1];
  BOOST_TEST(first.reduction == 7);
  BOOST_TEST(first.step == 1);
  BOOST_TEST(first.ready == 1, kClose);
  BOOST_TEST(first.start == 1, kClose);
  BOOST_TEST(first.end == 11, kClose);
  BOOST_TEST(first.exposed == 8, kClose);
  BOOST_TEST(second.ready == 3, kClose);
  BOOST_TEST(second.start == 11, kClose);
  BOOST_TEST(second.end == 15, kClose);
  BOOST_TEST(second.exposed == 3, kClose);
  BOOST_TEST(overlap.step == 17, kClose);
}

// There are eight parts of 2 bytes, each after a second of compute. In buckets of k parts there are 8/k buckets, and
// each takes 1 + 2 k seconds. The first is ready after k seconds, and from then on the network is never idle.
BOOST_AUTO_TEST_CASE(parts_that_travel_together) {
  Timed timed;
  for (int i = 0; i < 8; ++i) timed.compute(1).start(i, 2);
  for (int i = 0; i < 8; ++i) timed.wait(i);
  for (const int k : {1, 2, 4, 8}) {
    const Overlap overlap = timed.predict(2 * k, 1);
    check_sums(overlap);
    BOOST_REQUIRE(overlap.reductions.size() == size_t(8 / k));
    BOOST_TEST(overlap.step == k + (8 / k) * (1 + 2 * k), kClose);
    BOOST_TEST(overlap.reductions[0].ready == k, kClose);
    BOOST_TEST(overlap.reductions[0].bytes == 2 * k);
    BOOST_TEST(overlap.reductions.back().reduction == 8 - k);
    BOOST_TEST(overlap.reductions.back().step == 15u);
  }
  // A bucket is full once it has as many bytes, or more.
  BOOST_REQUIRE(timed.predict(5).reductions.size() == 3u);
  BOOST_TEST(timed.predict(5).reductions.back().bytes == 4);
}

// Parts of two vectors, and parts of one vector with a gap between them, stay apart.
BOOST_AUTO_TEST_CASE(only_neighbours_travel_together) {
  const auto buckets = [](const Timed& timed) { return timed.predict(1000).reductions.size(); };
  BOOST_TEST(buckets(Timed().start(0, 4).start(1, 4).wait(0).wait(1)) == 1u);
  BOOST_TEST(buckets(Timed().start(0, 4).other_vector().start(1, 4).wait(0).wait(1)) == 2u);
  BOOST_TEST(buckets(Timed().start(0, 4).compute(1).start(1, 4).wait(0).wait(1)) == 1u);
  Timed gap = Timed().start(0, 4);
  gap.offset += 64;
  BOOST_TEST(buckets(gap.start(1, 4).wait(0).wait(1)) == 2u);
  // Neighbours travel together in whatever order they are ready.
  Timed swapped = Timed().start(0, 4);
  swapped.offset = 8;
  swapped.start(2, 4).offset = 4;
  BOOST_TEST(buckets(swapped.start(1, 4).wait(0).wait(1).wait(2)) == 1u);
}

BOOST_AUTO_TEST_CASE(starting_costs_compute_its_time) {
  const Overlap overlap = Timed().start(0, 1, 0.25).wait(0).predict();
  BOOST_TEST(overlap.reductions.at(0).ready == 0.25, kClose);
  BOOST_TEST(overlap.step == 1.25, kClose);
}

BOOST_AUTO_TEST_CASE(a_wait_for_nothing_is_refused) {
  BOOST_CHECK_THROW(Timed().wait(0).predict(), InternalError);
  Timed unequal;
  unequal.compute(1).seconds.clear();
  BOOST_CHECK_THROW(unequal.predict(), InternalError);
}

// Whatever layout a library gives a gradient, some buckets start before the last weight gradient is computed.
BOOST_AUTO_TEST_CASE(buckets_go_as_early_on_every_processor) {
  const auto early = [](const Target& target) {
    const Schedule schedule = compiled_step(target, 4096);
    int64_t early = 0, started = 0;
    for (const Step& step : schedule.steps) {
      started += step.cls == FusionClass::exchange;
      if (step.name.starts_with("conv2d_weight_grad")) early = started;
    }
    return early;
  };
  BOOST_TEST(early(generic_cpu_target()) >= 2);
  BOOST_TEST(early(gpu_target("sm_90")) == early(generic_cpu_target()));
}

BOOST_AUTO_TEST_CASE(a_step_that_touches_what_is_summed_is_refused) {
  Schedule schedule = compiled_step(generic_cpu_target(), 4096);
  for (Buffer& one : schedule.buffers) one.first = 0, one.last = static_cast<int32_t>(schedule.steps.size()) - 1;
  plan_memory(schedule);
  verify(schedule);
  size_t last = schedule.steps.size() - 1;
  while (schedule.steps[last].cls == FusionClass::wait) --last;
  while (schedule.steps[last].cls != FusionClass::wait) --last;
  std::swap(schedule.steps[last], schedule.steps[last + 1]);  // the step behind the wait needs it
  BOOST_CHECK_EXCEPTION(verify(schedule), InternalError, test::says("touches what is summed before its wait"));
}

// In a compiled step smaller buckets hide more communication, and the bytes to send stay as many.
BOOST_AUTO_TEST_CASE(buckets_of_a_compiled_step) {
  const auto overlap = [](const Target& target, int64_t bucket_bytes) {
    const Schedule schedule = compiled_step(target, bucket_bytes);
    const Overlap result = predict_overlap(schedule, std::vector<double>(schedule.steps.size(), 1),
                                           [](int64_t bytes) { return 1e-3 * static_cast<double>(bytes); });
    check_sums(result);
    return result;
  };
  for (const Target& target : {generic_cpu_target(), gpu_target("sm_90")}) {
    const Overlap whole = overlap(target, 0), cut = overlap(target, 4096);
    BOOST_TEST(cut.reductions.size() > whole.reductions.size());
    BOOST_TEST(cut.communication == whole.communication, kClose);
    BOOST_TEST(cut.hidden() > whole.hidden());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::overlap_test
