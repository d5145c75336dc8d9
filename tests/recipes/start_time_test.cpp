#include "recipes/run/start_time.h"

#include <boost/test/unit_test.hpp>
#include <ctime>
#include <thread>

namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(start_time)

BOOST_AUTO_TEST_CASE(processor_time_is_the_age_within_the_kernels_tick) {
  // It began in tick 9990, of 10 ms each: 90 to 100 ms before.
  const auto age = [](std::chrono::nanoseconds processor_time) {
    return kb::process_age(processor_time, 100s, 9990, 10ms);
  };
  BOOST_TEST((age(95ms) == 95ms));
  BOOST_TEST((age(3ms) == 90ms));     // it waited
  BOOST_TEST((age(170ms) == 100ms));  // it had several threads
  BOOST_TEST((kb::process_age(3ms, 100s, -1, 10ms) == 3ms));
  BOOST_TEST((kb::process_age(3ms, 100s, 10001, 10ms) == 0ms));
}

// A process that sleeps does not compute. A busy machine makes it older, never younger.
BOOST_AUTO_TEST_CASE(sleep_makes_a_process_older) {
  const auto computed = std::chrono::nanoseconds(std::chrono::seconds(std::clock())) / CLOCKS_PER_SEC;
  std::this_thread::sleep_for(60ms);
  const auto start = kb::process_start();
  BOOST_TEST((std::chrono::steady_clock::now() - start >= computed + 45ms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
