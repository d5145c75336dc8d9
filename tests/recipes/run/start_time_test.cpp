#include "recipes/run/start_time.h"

#include <boost/test/unit_test.hpp>

#include "recipes/papers/table.h"
#include "tests/support/support.h"

namespace kb::start_time_test {

BOOST_AUTO_TEST_SUITE(start_time)

// The time of a shell that sleeps and then becomes the program by exec does not count.
BOOST_AUTO_TEST_CASE(a_program_is_as_old_as_it_was_loaded) {
  const kb::test::TemporaryDirectory directory;
  const std::string out = (directory / "run").string(), log = (directory / "log").string();
  const std::string command = "sh -c 'sleep 3; exec " KB_BIN "/mlp_mnist --data synthetic --steps 1 --out " + out +
                              " --threads 1 >" + log + "'";
  const auto before = std::chrono::steady_clock::now();
  BOOST_REQUIRE(std::system(command.c_str()) == 0);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - before;
  const std::string text = kb::test::read_file(log), begin = "first step done ";
  const size_t at = text.find(begin);
  BOOST_REQUIRE(at != std::string::npos);
  const double seconds = std::stod(text.substr(at + begin.size()));
  BOOST_TEST(seconds > 0);
  BOOST_TEST(seconds < passed.count() - 2.9);
}

BOOST_AUTO_TEST_CASE(the_start_stays) { BOOST_TEST((kb::program_start() == kb::program_start())); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::start_time_test
