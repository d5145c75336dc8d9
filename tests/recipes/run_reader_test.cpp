// Reading of run folders: the steps that a run has done, by the end of its metrics.
#include "recipes/trials/run_reader.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "tests/support.h"

namespace kb::run_reader_test {

BOOST_AUTO_TEST_SUITE(run_reader)

// A line of layers, which is longer than many of steps, may be the last one.
BOOST_AUTO_TEST_CASE(steps_are_found_behind_long_lines) {
  const test::TemporaryDirectory run;
  BOOST_TEST(steps_of_run(run.path()) == 0);
  std::string text;
  const auto steps = [&] {
    test::write_file(run / "metrics.jsonl", text);
    return steps_of_run(run.path());
  };
  BOOST_TEST(steps() == 0);
  for (int step = 0; step < 300; ++step) text += fmt::format("{{\"kind\":\"step\",\"step\":{},\"loss\":1.5}}\n", step);
  BOOST_TEST(steps() == 300);
  for (const size_t numbers : {1000u, 100'000u}) {
    text += "{\"kind\":\"layers\",\"step\":299,\"weight\":[1.5";
    for (size_t number = 1; number < numbers; ++number) text += ",1.5";
    text += "]}\n";
    BOOST_TEST(steps() == 300);
  }
  text += "{\"kind\":\"step\",\"step\":300";  // torn
  BOOST_TEST(steps() == 300);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::run_reader_test
