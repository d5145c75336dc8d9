// Tests plan_memory() on buffers made by hand, whose best arena is known.
#include "compiler/schedule/plan_memory.h"

#include <boost/test/unit_test.hpp>
#include <random>

#include "tests/support/hand_step.h"

namespace kb::plan_memory_test {

namespace {

// A buffer of so many units of kAlignment bytes that lives from step `first` to step `last`.
struct Life {
  int64_t units;
  int32_t first, last;
};

Schedule schedule_of(const std::vector<Life>& lives, int64_t spare_bytes = 0) {
  Schedule schedule;
  int32_t steps = 1;
  for (const Life& life : lives) {
    Buffer buffer;
    buffer.bytes = life.units * kAlignment - spare_bytes;
    buffer.first = life.first;
    buffer.last = life.last;
    schedule.buffers.push_back(buffer);
    steps = std::max(steps, life.last + 1);
  }
  schedule.steps.assign(static_cast<size_t>(steps), test::hand_step(FusionClass::pointwise));
  return schedule;
}

Schedule planned(const std::vector<Life>& lives, int64_t redzone_bytes = 0) {
  Schedule schedule = schedule_of(lives);
  plan_memory(schedule, redzone_bytes);
  return schedule;
}

int64_t arena_units(const std::vector<Life>& lives) { return planned(lives).arena_bytes / kAlignment; }

}  // namespace

BOOST_AUTO_TEST_SUITE(plan_memory_pass)

// Each of these needs no more than the most that lives at one time, if buffers are placed in one of the four orders
// alone: by size, by size x duration, by duration, by start.
BOOST_AUTO_TEST_CASE(the_best_of_several_orders_wins) {
  BOOST_TEST(arena_units({{3, 0, 1}, {4, 2, 2}, {3, 1, 2}}) == 7);
  BOOST_TEST(arena_units({{3, 2, 2}, {4, 0, 1}, {3, 1, 3}, {2, 2, 5}}) == 8);
  BOOST_TEST(arena_units({{2, 1, 2}, {3, 2, 2}, {4, 0, 1}, {2, 2, 2}}) == 7);
  BOOST_TEST(arena_units({{2, 2, 3}, {3, 0, 0}, {3, 0, 2}, {4, 3, 3}}) == 6);
}

// The last buffer goes below the second one, where the first one lay.
BOOST_AUTO_TEST_CASE(a_gap_is_filled) { BOOST_TEST(arena_units({{2, 0, 1}, {2, 1, 2}, {2, 2, 2}}) == 4); }

BOOST_AUTO_TEST_CASE(what_is_dead_makes_room) {
  BOOST_TEST(arena_units({{3, 0, 1}, {3, 2, 3}, {3, 4, 4}}) == 3);
  BOOST_TEST(arena_units({{3, 0, 2}, {3, 2, 3}}) == 6);  // the second step of both reads one and writes the other
}

// Sizes are rounded up to whole units, and bytes for a red zone come before that.
BOOST_AUTO_TEST_CASE(sizes_are_rounded_up) {
  Schedule schedule = schedule_of({{2, 0, 1}, {1, 1, 1}}, 1);
  plan_memory(schedule, 0);
  BOOST_TEST(schedule.arena_bytes == 3 * kAlignment);
  plan_memory(schedule, 1);
  BOOST_TEST(schedule.arena_bytes == 3 * kAlignment);
  plan_memory(schedule, 2);
  BOOST_TEST(schedule.arena_bytes == 5 * kAlignment);
  BOOST_TEST((live_bytes(schedule, 2) == std::vector<int64_t>{3 * kAlignment, 5 * kAlignment}));
}

BOOST_AUTO_TEST_CASE(no_two_live_buffers_overlap_and_none_lies_higher_than_it_must) {
  std::mt19937 random(5);
  const auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<Life> lives(static_cast<size_t>(draw(1, 20)));
    int64_t bound = 0, all = 0;
    for (Life& life : lives) {
      life = {draw(1, 9), static_cast<int32_t>(draw(0, 11)), 0};
      life.last = static_cast<int32_t>(draw(life.first, 11));
      all += life.units;
    }
    for (int32_t step = 0; step < 12; ++step) {
      int64_t live = 0;
      for (const Life& life : lives) live += life.first <= step && step <= life.last ? life.units : 0;
      bound = std::max(bound, live);
    }
    const Schedule schedule = planned(lives);
    BOOST_TEST(schedule.liveness_bound_bytes == bound * kAlignment);
    BOOST_TEST(schedule.arena_bytes >= schedule.liveness_bound_bytes);
    BOOST_TEST(schedule.arena_bytes <= all * kAlignment);
    for (const Buffer& a : schedule.buffers) {
      BOOST_TEST(a.offset % kAlignment == 0);
      BOOST_TEST((a.offset >= 0 && a.offset + a.bytes <= schedule.arena_bytes));
      bool is_lowest = a.offset == 0;
      for (const Buffer& b : schedule.buffers)
        if (&a != &b && a.first <= b.last && b.first <= a.last) {
          BOOST_TEST((a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset));
          is_lowest = is_lowest || b.offset + b.bytes == a.offset;
        }
      BOOST_TEST(is_lowest);  // a buffer lies on the ground or on another one
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::plan_memory_test
