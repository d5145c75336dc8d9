#include "runtime/folder_lock.h"

#include <boost/test/unit_test.hpp>

#include "graph/error.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::folder_lock_test {

BOOST_AUTO_TEST_SUITE(folder_lock)

BOOST_AUTO_TEST_CASE(one_at_a_time_has_it) {
  const test::TemporaryDirectory folder;
  {
    const FolderLock first(folder.path()), second(folder.path());
    BOOST_TEST(first.has_it());
    BOOST_TEST(!second.has_it());
  }
  BOOST_TEST(FolderLock(folder.path()).has_it());
  BOOST_CHECK_EXCEPTION(FolderLock(folder / "none"), Error, test::says("cannot open", "No such file"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::folder_lock_test
