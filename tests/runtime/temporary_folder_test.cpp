#include "runtime/temporary_folder.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "tests/support/says.h"
#include "tests/support/scoped_variable.h"
#include "tests/support/support.h"

namespace kb::temporary_folder_test {

BOOST_AUTO_TEST_SUITE(temporary_folder)

namespace fs = std::filesystem;

BOOST_AUTO_TEST_CASE(it_goes_with_its_object) {
  fs::path path;
  {
    const TemporaryFolder folder("kilobatch-test-");
    path = folder.path();
    BOOST_TEST(path.parent_path() == temporary_parent());
    test::write_file(path / "x", "");
  }
  BOOST_TEST(!fs::exists(path));
}

BOOST_AUTO_TEST_CASE(a_parent_that_is_none_is_named) {
  const test::TemporaryDirectory directory;
  const std::string missing = (directory / "none").string();
  const test::ScopedVariable variable("TMPDIR", missing);
  BOOST_CHECK_EXCEPTION(TemporaryFolder("x-"), Error, test::says("TMPDIR: cannot use what it names: No such file"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::temporary_folder_test
