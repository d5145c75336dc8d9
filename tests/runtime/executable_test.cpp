#include "runtime/cpu/executable.h"

#include <boost/test/unit_test.hpp>

#include "runtime/cpu/arena_guard.h"
#include "tests/runtime/hand_program.h"

namespace kb::executable_test {

using namespace kb::test;

namespace {

// A schedule of one step over given buffers, run on memory of the test's own.
struct OneStep {
  std::unique_ptr<Backend> backend;
  Schedule schedule;
  std::vector<std::unique_ptr<DeviceMemory>> memories;

  explicit OneStep(int threads) : backend(make_cpu_backend({threads, 2, ""})) {
    schedule.name = "one";
    schedule.graph = std::make_shared<Graph>("one");
  }
  template <class T>
  T* add(int64_t count, bool written) {
    schedule.buffers.push_back({BufferKind::input, "", count * static_cast<int64_t>(sizeof(T)), 0, 0, 0, -1});
    memories.push_back(backend->allocate(schedule.buffers.back().bytes));
    step.operands.push_back({static_cast<int32_t>(memories.size()) - 1, 0});
    step.inputs += written ? 0 : 1;
    return reinterpret_cast<T*>(memories.back()->data());
  }
  std::unique_ptr<Executable> load() {
    schedule.steps = {step};
    const Schedule* schedules[] = {&schedule};
    LoadReport report;
    std::unique_ptr<Executable> executable = std::move(backend->load(schedules, {}, report)[0]);
    std::vector<std::byte*> addresses;
    for (auto& memory : memories) addresses.push_back(memory->data());
    executable->bind(addresses);
    return executable;
  }
  Step step;
};

std::vector<float> column_sums_on(int threads) {
  constexpr int64_t kRows = 1000, kChannels = 40, kChunks = 16;
  OneStep one(threads);
  one.schedule.kernels = {column_sums(kChannels)};
  one.step.work = KernelLaunch{0, {kRows, kChunks}, {kChunks * 2, 5}};
  one.step.bytes = 1 << 20;
  auto* x = one.add<float>(kRows * kChannels, false);
  one.add<float>(kChunks * 2 * kChannels, true);
  auto* out = one.add<float>(2 * kChannels, true);
  for (int64_t i = 0; i < kRows * kChannels; ++i) x[i] = static_cast<float>(i % 101) / 64;
  one.load()->run();
  return {out, out + 2 * kChannels};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(executable)

BOOST_AUTO_TEST_CASE(steps_run_in_order) {
  std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  Schedule schedule = hand_schedule(1000, backend->target());
  verify(schedule);
  StateStore store(*backend);
  Session session(*backend, store, hand_program(schedule));
  fill_hand_input(session);
  session.step();
  std::vector<double> y;
  session.read("y", y);
  for (int64_t i = 0; i < 1000; ++i) BOOST_REQUIRE_EQUAL(y[static_cast<size_t>(i)], hand_result(i));
}

BOOST_AUTO_TEST_CASE(work_of_another_kind_than_its_class_is_refused) {
  const std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  for (const FusionClass cls : {FusionClass::copy, FusionClass::library, FusionClass::exchange}) {
    Schedule schedule = hand_schedule(100, backend->target());
    schedule.steps[1].cls = cls;
    BOOST_CHECK_THROW(verify(schedule), InternalError);
  }
}

// The second phase reads what all tiles of the first wrote.
BOOST_AUTO_TEST_CASE(a_phase_ends_before_the_next_begins) {
  std::vector<float> sums = column_sums_on(3);
  double expected = 0;
  for (int64_t i = 0; i < 40000; i += 40) expected += static_cast<double>(i % 101) / 64;
  BOOST_TEST(sums[0] == expected, boost::test_tools::tolerance(1e-5));
}

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_threads) {
  std::vector<float> one = column_sums_on(1);
  for (int threads : {2, 3, 64}) BOOST_TEST(one == column_sums_on(threads));
}

BOOST_AUTO_TEST_CASE(copies_gather_parts_and_zeros) {
  OneStep one(1);
  one.step.cls = FusionClass::copy;
  auto* a = one.add<float>(3, false);
  auto* b = one.add<float>(2, false);
  auto* to = one.add<float>(7, true);
  std::fill(a, a + 3, 1.0f);
  std::fill(b, b + 2, 2.0f);
  std::fill(to, to + 7, 9.0f);
  one.step.work = Copies{{{0, 12, 0}, {12, 8, -1}, {20, 8, 1}}};
  one.load()->run();
  std::vector<float> expected = {1, 1, 1, 0, 0, 2, 2};
  BOOST_TEST(std::vector<float>(to, to + 7) == expected);
}

BOOST_AUTO_TEST_CASE(a_copy_of_nothing_is_a_step) {
  OneStep one(1);
  one.step.cls = FusionClass::copy;
  one.add<float>(0, false);
  one.add<float>(0, true);
  one.step.work = Copies{{{0, 0, 0}}};
  BOOST_CHECK_NO_THROW(one.load()->run());
}

// A session's programs are compiled together, and what is in memory or on disk is not compiled again.
BOOST_AUTO_TEST_CASE(schedules_load_as_one_batch) {
  std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  Schedule a = hand_schedule(100, backend->target()), b = hand_schedule(200, backend->target());
  const Schedule* schedules[] = {&a, &b};
  LoadReport report;
  BOOST_TEST(backend->load(schedules, {}, report).size() == 2u);
  BOOST_TEST(report.cache_hits + report.compiled == 2);  // the two kernels that both share
  LoadReport again;
  backend->load(schedules, {}, again);
  BOOST_TEST(again.cache_hits == 2);
  BOOST_TEST(again.compiled == 0);
  BOOST_TEST(again.jit_milliseconds > 0);
}

BOOST_AUTO_TEST_CASE(profile_times_every_step) {
  std::unique_ptr<Backend> backend = make_cpu_backend({2, 2, ""});
  StateStore store(*backend);
  Session session(*backend, store, hand_program(hand_schedule(1 << 20, backend->target())));
  fill_hand_input(session);
  const Profile profile = session.profile();
  BOOST_REQUIRE(profile.steps.size() == 3u);
  BOOST_TEST(profile.copies.empty());
  double end = 0;
  for (const StepTime& time : profile.steps) {
    BOOST_TEST(time.milliseconds > 0.01);
    BOOST_TEST(time.start >= end);
    end = time.start + time.milliseconds;
  }
  std::vector<double> y;
  session.read("y", y);
  BOOST_TEST(y[12345] == hand_result(12345));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::executable_test
