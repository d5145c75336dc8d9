// Times of gradients: their texts, means, files, and the functions that they are made of.
#include "recipes/orders/gradient_times.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "graph/error.h"
#include "graph/portable_math.h"
#include "recipes/config/values.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::gradient_times_test {
namespace {

using test::says;
using Kind = GradientTimes::Kind;

GradientTimes times_of(const std::string& text) { return parse_times("--times", text); }

struct TimesFixture {
  test::TemporaryDirectory directory;

  GradientTimes file_of(const std::string& text, int64_t workers) {
    test::write_file(directory / "times.txt", text);
    return read_times(times_of((directory / "times.txt").string()), workers);
  }
  void check_refused(const std::string& text, int64_t workers, const std::string& line, const std::string& expected,
                     const std::string& got) {
    BOOST_CHECK_EXCEPTION(file_of(text, workers), Error,
                          says("times.txt: " + line, "expected: " + expected, "got:      " + got, "hint: "));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(gradient_times, TimesFixture)

BOOST_AUTO_TEST_CASE(texts_are_read_and_written) {
  for (const char* text : {"constant", "exponential", "lognormal:0.5", "lognormal:3", "times.txt", "./times"})
    BOOST_TEST(times_text(times_of(text)) == text);
  BOOST_TEST(times_of("lognormal:0.5").spread == 0.5);
  BOOST_CHECK(times_of("a/b").kind == Kind::file);
  for (const char* text : {"", "exponental", "clock", "lognormal", "lognormal:", "lognormal:0", "lognormal:-1",
                           "lognormal:4", "lognormal:nan", "lognormal:1x", "1"})
    BOOST_CHECK_EXCEPTION(times_of(text), UsageError,
                          says("--times: expected constant, exponential, lognormal:S with 0 < S < 4, or the path",
                               "'" + std::string(text) + "'"));
}

BOOST_AUTO_TEST_CASE(times_follow_from_seed_worker_and_number) {
  for (const char* text : {"exponential", "lognormal:1"}) {
    const GradientTimes times = times_of(text);
    BOOST_TEST(times.ns(1, 2, 3) == times.ns(1, 2, 3));
    BOOST_TEST(times.ns(1, 2, 3) != times.ns(2, 2, 3));
    BOOST_TEST(times.ns(1, 2, 3) != times.ns(1, 3, 3));
    BOOST_TEST(times.ns(1, 2, 3) != times.ns(1, 2, 4));
    BOOST_TEST(times.ns(1, 2, 3) != times.ns(1, 3, 2));
  }
}

// Machines that disagree here would make other orders of one seed.
BOOST_AUTO_TEST_CASE(times_are_the_same_on_every_machine) {
  BOOST_TEST(times_of("constant").ns(1, 2, 3) == 1'000'000'000);
  BOOST_TEST(times_of("exponential").ns(1, 2, 3) == 686'488'802);
  BOOST_TEST(times_of("lognormal:1").ns(1, 2, 3) == 634'544'594);
}

BOOST_AUTO_TEST_CASE(means_are_a_second) {
  constexpr int64_t kDraws = 40'000;
  const auto check = [&](const char* text, double variance) {
    const GradientTimes times = times_of(text);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < kDraws; ++i) {
      const double seconds = static_cast<double>(times.ns(5, i % 8, i / 8)) * 1e-9;
      sum += seconds;
      squares += (seconds - 1) * (seconds - 1);
    }
    BOOST_TEST(sum / kDraws == 1, boost::test_tools::tolerance(4 * std::sqrt(variance / kDraws)));
    BOOST_TEST(squares / kDraws == variance, boost::test_tools::tolerance(0.05));
  };
  check("exponential", 1);
  check("lognormal:0.5", std::exp(0.25) - 1);
}

BOOST_AUTO_TEST_CASE(a_file_says_the_time_of_each_worker) {
  const GradientTimes times = file_of("# seconds\n0.25\n\n  1.5e-3 \r\n2", 3);
  BOOST_TEST(times.means_s == (std::vector<double>{0.25, 1.5e-3, 2}));
  BOOST_TEST(times.ns(1, 1, 7) == 1'500'000);
  BOOST_TEST(times.ns(9, 2, 0) == 2'000'000'000);
  BOOST_CHECK(read_times(times_of("exponential"), 4) == times_of("exponential"));
}

BOOST_AUTO_TEST_CASE(files_without_a_time_for_each_worker_are_refused) {
  const std::string mean = "mean seconds of a gradient, a number in [1e-9, 1e6]";
  check_refused("0.25\nfast\n", 2, "line 2", mean, "'fast'");
  check_refused("0.25\n1 2\n", 2, "line 2", mean, "'1 2'");
  check_refused("# seconds\n0\n", 1, "line 2", mean, "'0'");
  check_refused("inf\n", 1, "line 1", mean, "'inf'");
  check_refused("0.25\n0.5\n", 3, "line 2", "3 numbers, one for each worker", "2");
  check_refused("0.25\n0.5\n", 1, "line 2", "1 numbers, one for each worker", "2");
  check_refused("", 1, "line 1", "1 numbers, one for each worker", "0");
  BOOST_CHECK_EXCEPTION(read_times(times_of("./absent"), 2), Error, says("cannot read ./absent"));
}

BOOST_AUTO_TEST_CASE(logarithm_and_exponential) {
  for (double x = 1e-300; x < 1e300; x *= 1.37)
    BOOST_TEST(portable_log(x) == std::log(x), boost::test_tools::tolerance(4e-16));
  for (double x = 0.9; x < 1.1; x += 0.0037)
    BOOST_TEST(std::abs(portable_log(x) - std::log(x)) <= 4e-16 * std::abs(std::log(x)) + 1e-17);
  for (double x = -690; x < 690; x += 3.7)
    BOOST_TEST(portable_exp(x) == std::exp(x), boost::test_tools::tolerance(1e-15));
  BOOST_TEST(portable_log(1) == 0);
  BOOST_TEST(portable_exp(0) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::gradient_times_test
