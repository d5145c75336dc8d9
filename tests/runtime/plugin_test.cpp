// Tests that a program opens plug-ins of its own build alone.
#include "runtime/plugin.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "runtime/commit.h"
#include "tests/support/matches.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::plugin_test {

BOOST_AUTO_TEST_SUITE(plugins)

BOOST_AUTO_TEST_CASE(a_build_is_known_by_its_version_and_its_commit) {
  const std::string own = build_version();
  BOOST_TEST(!test::whole_match(own, ".+, commit (unknown|[0-9a-f]{12}([+][0-9a-f]{8})?)").empty(), own);
  BOOST_TEST(own.ends_with(std::string(", commit ") + source_commit()), own);
}

// The C library tells its version by a function as a plug-in does.
BOOST_AUTO_TEST_CASE(a_plug_in_of_another_build_is_refused_with_both) {
  constexpr Plugin other{"libc.so.6", "another library", "gnu_get_libc_version", "nothing can be used", "build it"};
  BOOST_CHECK_EXCEPTION(
      other.symbol("libc.so.6", "puts"), Error,
      test::says("nothing can be used\n  missing: another library of this build\n  got:     libc.so.6 of version 2.",
                 std::string(", where the program has ") + build_version() + "\n", "hint:    build both together"));
}

// A place that cannot be looked at is passed over, as one that is not there.
BOOST_AUTO_TEST_CASE(the_first_place_that_has_the_file_is_taken) {
  const test::TemporaryDirectory scratch;
  std::filesystem::create_symlink("loop", scratch / "loop");
  test::write_file(scratch / "libx.so", "");
  constexpr Plugin plugin{"libx.so", "a library", "x_version", "nothing can be used", "build it"};
  BOOST_TEST(plugin.find({scratch / "none/libx.so", scratch / "loop/libx.so", scratch / "libx.so"}) ==
             scratch / "libx.so");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::plugin_test
