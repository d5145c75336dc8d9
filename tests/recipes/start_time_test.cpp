#include "recipes/start_time.h"

#include <boost/test/unit_test.hpp>
#include <thread>

namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(start_time)

// A process that sleeps does not compute: the kernel's tick, a hundredth of a second, has to tell its age.
BOOST_AUTO_TEST_CASE(the_start_stays_where_it_is) {
  const auto first = kb::process_start();
  std::this_thread::sleep_for(60ms);
  const auto second = kb::process_start();
  BOOST_TEST((second - first < 25ms && first - second < 25ms));
  BOOST_TEST((first < std::chrono::steady_clock::now() - 60ms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
