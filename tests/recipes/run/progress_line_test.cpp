// The line of progress at the widths of terminals.
#include "recipes/run/console.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/support.h"

namespace kb::progress_line_test {

namespace {

const Progress kHalf{.step = 2496,
                     .steps = 4992,
                     .epoch = 8,
                     .epochs = 16,
                     .loss = 0.11312,
                     .learning_rate = 0.0247,
                     .best = Figure{"error", 0.037, {.is_share = true}},
                     .samples_per_second = 2490.4,
                     .seconds_left = 725,
                     .data_wait_ms = 0.12};

}  // namespace

BOOST_AUTO_TEST_SUITE(progress_lines)

BOOST_AUTO_TEST_CASE(lines_of_several_widths) {
  BOOST_TEST(progress_line(kHalf, kUnlimited) ==
             "50 %  12:05 left  epoch 8.0/16  step 2496/4992  loss 0.1131  best 3.70 %  2490 samples/s  lr 0.0247  "
             "data wait 0.1 ms");
  BOOST_TEST(progress_line(kHalf, 119) ==
             "#########.........  50 %  12:05 left  epoch 8.0/16  step 2496/4992  loss 0.1131  best 3.70 %  "
             "2490 samples/s  lr 0.0247");
  BOOST_TEST(progress_line(kHalf, 79) ==
             "######.......  50 %  12:05 left  epoch 8.0/16  loss 0.1131  best 3.70 %  2490/s");
  BOOST_TEST(progress_line(kHalf, 20) == "50 %  12:05 left");
}

BOOST_AUTO_TEST_CASE(no_line_is_wider_than_its_terminal) {
  Progress first = kHalf, long_run = kHalf;
  first.step = 1;
  first.best.reset();
  long_run.step = 123456789;
  long_run.steps = 987654321;
  long_run.seconds_left = 1e9;
  for (const Progress& progress : {kHalf, first, long_run})
    for (int columns = 1; columns <= 240; ++columns) {
      const std::string line = progress_line(progress, columns);
      BOOST_TEST(static_cast<int>(line.size()) <= columns, columns << ": " << line);
      if (columns >= 79) BOOST_TEST(test::contains(line, "loss 0.1131"));
    }
}

BOOST_AUTO_TEST_CASE(time_that_is_left) {
  BOOST_TEST(time_left_text(0) == "0 s");
  BOOST_TEST(time_left_text(44.2) == "45 s");
  BOOST_TEST(time_left_text(59.5) == "1:00");
  BOOST_TEST(time_left_text(725) == "12:05");
  BOOST_TEST(time_left_text(3600 * 3 + 60 * 25) == "3 h 25 min");
  BOOST_TEST(time_left_text(86400 * 2 + 3600 * 3) == "2 d 3 h");
  BOOST_TEST(time_left_text(1e300) == "1000 d 0 h");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::progress_line_test
