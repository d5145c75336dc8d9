#include "runtime/cpu/pool.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "graph/error.h"
#include "runtime/usable_processors.h"
#include "tests/support/few_threads.h"

namespace kb::pool_test {

using kb::Pool;

BOOST_AUTO_TEST_SUITE(pool)

BOOST_AUTO_TEST_CASE(every_tile_runs_once_for_any_count_of_tiles_and_threads) {
  for (int threads : {1, 2, 3, 7, 64}) {
    Pool pool(threads);
    BOOST_TEST(pool.threads() == threads);
    for (int64_t tiles : {0, 1, 2, 3, 5, 16, 17, 1000, 4096}) {
      std::vector<std::atomic<int>> runs(tiles);
      pool.parallel(tiles, [&](int64_t begin, int64_t end, int worker) {
        if (worker < 0 || worker >= threads || begin >= end) throw std::logic_error("a bad range or worker");
        for (int64_t i = begin; i < end; ++i) ++runs[i];
      });
      for (int64_t i = 0; i < tiles; ++i) BOOST_REQUIRE(runs[i] == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(many_short_jobs_in_a_row_see_each_others_writes) {
  Pool pool(3);
  std::vector<int64_t> values(64, 0);
  const int jobs = 20000;
  for (int job = 0; job < jobs; ++job) {
    pool.parallel(std::ssize(values), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) ++values[i];
    });
  }
  for (int64_t value : values) BOOST_REQUIRE(value == jobs);
}

BOOST_AUTO_TEST_CASE(a_worker_that_slept_wakes_for_the_next_job) {
  Pool pool(2);
  for (int job = 0; job < 5; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> inside{0};
    // Each tile waits until both have begun, so one thread alone would never finish.
    pool.parallel(2, [&](int64_t, int64_t, int) {
      ++inside;
      while (inside < 2) std::this_thread::yield();
    });
    BOOST_TEST(inside == 2);
  }
}

BOOST_AUTO_TEST_CASE(a_worker_number_is_never_in_two_bodies_at_once) {
  Pool pool(4);
  std::vector<std::atomic<bool>> inside(4);
  std::atomic<bool> shared{false};
  pool.parallel(10000, [&](int64_t, int64_t, int worker) {
    if (inside[worker].exchange(true)) shared = true;
    inside[worker] = false;
  });
  BOOST_TEST(!shared);
}

BOOST_AUTO_TEST_CASE(an_exception_of_a_tile_reaches_the_caller_and_the_pool_lives_on) {
  Pool pool(3);
  for (int64_t bad : {0, 50, 99}) {
    BOOST_CHECK_THROW(pool.parallel(100,
                                    [&](int64_t begin, int64_t end, int) {
                                      if (begin <= bad && bad < end) throw std::runtime_error("tile");
                                    }),
                      std::runtime_error);
    std::atomic<int64_t> sum{0};
    pool.parallel(100, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) sum += i;
    });
    BOOST_TEST(sum == 4950);
  }
  BOOST_CHECK_THROW(pool.parallel(1, [](int64_t, int64_t, int) { throw std::runtime_error("one tile"); }),
                    std::runtime_error);
}

BOOST_AUTO_TEST_CASE(a_job_inside_a_job_is_refused) {
  Pool pool(2);
  BOOST_CHECK_THROW(pool.parallel(4, [&](int64_t, int64_t, int) { pool.parallel(4, [](int64_t, int64_t, int) {}); }),
                    kb::InternalError);
}

BOOST_AUTO_TEST_CASE(zero_threads_stands_for_the_processors_of_this_process) {
  Pool pool;
  BOOST_TEST(pool.threads() == kb::usable_processors());
}

BOOST_AUTO_TEST_CASE(where_no_more_threads_can_be_made_fewer_do_the_work) {
  for (int more : {0, 2, 9}) {
    const kb::test::FewThreads few(more);
    Pool pool(20);
    // Nine threads could be made, but the pool leaves six of them to the rest of the run.
    BOOST_TEST(pool.threads() == (more == 9 ? 4 : 1));
    BOOST_TEST(pool.asked() == 20);
    std::atomic<int64_t> sum{0};
    pool.parallel(1000, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) sum += i;
    });
    BOOST_TEST(sum == 499500);
  }
}

BOOST_AUTO_TEST_CASE(threads_that_were_made_end_where_another_error_stops_the_pool) {
  const kb::test::FewThreads few(2, EPERM);
  BOOST_CHECK_EXCEPTION(Pool(20), std::system_error, [](const auto& e) { return e.code().value() == EPERM; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::pool_test
