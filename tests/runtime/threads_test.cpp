#include "runtime/threads.h"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <vector>

#include "tests/support/says.h"

namespace kb::threads_test {

BOOST_AUTO_TEST_SUITE(threads)

BOOST_AUTO_TEST_CASE(every_piece_is_done_though_some_fail) {
  for (const size_t jobs : {1, 2, 9}) {
    std::vector<std::atomic<int>> calls(7);
    const std::string said = test::error_of<std::runtime_error>([&] {
      run_side_by_side(calls.size(), jobs, [&](size_t i) {
        ++calls[i];
        if (i >= 3) throw std::runtime_error("piece " + std::to_string(i));
      });
    });
    BOOST_TEST(said == "piece 3");
    BOOST_TEST(std::ranges::all_of(calls, [](const std::atomic<int>& count) { return count == 1; }));
  }
  run_side_by_side(0, 3, [](size_t) { throw std::runtime_error("there is no piece"); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::threads_test
