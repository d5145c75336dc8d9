// Planted faults in programs: the guarded arena and the sanitized kernels of an ASan build find them. Faults that a
// schedule shows are refused by verify in every build.
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "runtime/cpu/arena_guard.h"
#include "tests/runtime/hand_program.h"
#include "tests/support/support.h"

namespace kb::sanitize_test {

using namespace kb::test;

namespace {

constexpr int64_t kElements = 1000;  // 62 vectors of 16, and a tail of 8

// Returns whether the build has AddressSanitizer, and prints a message if it has not.
bool guarded() {
  if (!kGuarded) BOOST_TEST_MESSAGE("skipped: needs AddressSanitizer; configure with -D KB_SANITIZE=address,undefined");
  return kGuarded;
}

Schedule sound_schedule() {
  Target target;
  target.redzone_bytes = kRedzone;
  return hand_schedule(kElements, target);
}

// Runs one step in a process of its own and gives all that it wrote, with " EXIT n" or " EXCEPTION text" at the end.
std::string run_apart(const Schedule& schedule) {
  TemporaryDirectory scratch;
  const std::string log = (scratch / "log").string();
  pid_t child = ::fork();
  if (child == 0) {
    if (!std::freopen(log.c_str(), "w", stderr)) ::_exit(1);
    try {
      std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
      StateStore store(*backend);
      Session session(*backend, store, hand_program(schedule));
      fill_hand_input(session);
      session.step();
    } catch (const std::exception& error) {
      std::fprintf(stderr, " EXCEPTION %s", error.what());
      std::fflush(stderr);
      ::_exit(2);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return test::read_file(log) + " EXIT " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sanitize)

BOOST_AUTO_TEST_CASE(a_sound_program_passes) {
  Schedule schedule = sound_schedule();
  verify(schedule);
  BOOST_TEST(run_apart(schedule) == " EXIT 0");
}

BOOST_AUTO_TEST_CASE(redzones_lie_behind_every_buffer) {
  Target target;
  target.redzone_bytes = 128;
  Schedule schedule = hand_schedule(kElements, target);
  BOOST_TEST(schedule.arena_bytes >= 3 * (4 * kElements + 128));
  for (const Buffer& a : schedule.buffers)
    for (const Buffer& b : schedule.buffers)
      if (a.kind != BufferKind::input && b.kind != BufferKind::input && a.offset < b.offset)
        BOOST_TEST(b.offset - a.offset >= a.bytes + 128);
}

BOOST_AUTO_TEST_CASE(one_element_past_a_tail_is_found) {
  if (!guarded()) return;
  for (size_t step : {0, 1, 2}) {
    Schedule schedule = sound_schedule();
    std::get<KernelLaunch>(schedule.steps[step].work).arguments[0] = kElements + 1;
    std::string report = run_apart(schedule);
    BOOST_TEST(contains(report, "AddressSanitizer: use-after-poison"));
  }
}

BOOST_AUTO_TEST_CASE(a_live_range_one_step_short_is_found) {
  Schedule schedule = sound_schedule();
  schedule.buffers[1].last = 1;  // `third` reads it at step 2
  BOOST_CHECK_THROW(verify(schedule), InternalError);
  if (!guarded()) return;
  std::string report = run_apart(schedule);
  BOOST_TEST(contains(report, "AddressSanitizer: use-after-poison"));
}

BOOST_AUTO_TEST_CASE(two_live_buffers_in_one_place_are_found) {
  for (int64_t distance : {int64_t{0}, kAlignment, 4 * kElements / kAlignment * kAlignment}) {
    Schedule schedule = sound_schedule();
    schedule.buffers[2].offset = schedule.buffers[1].offset + distance;
    schedule.arena_bytes *= 2;
    BOOST_CHECK_THROW(verify(schedule), InternalError);
    if (!guarded()) continue;
    std::string report = run_apart(schedule);
    BOOST_TEST(contains(report, "buffer b2 begins to live where another one lives"));
  }
}

BOOST_AUTO_TEST_CASE(reading_past_an_input_is_found) {
  if (!guarded()) return;
  std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  Schedule schedule = hand_schedule(kElements + 1, backend->target());
  schedule.graph = hand_schedule(kElements, backend->target()).graph;  // the input is one element shorter
  std::string report = run_apart(schedule);
  BOOST_TEST(contains(report, "AddressSanitizer: use-after-poison"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sanitize_test
