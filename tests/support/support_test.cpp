#include "tests/support/support.h"

#include <boost/test/unit_test.hpp>
#include <source_location>
#include <stdexcept>

namespace kb::test::support_test {
namespace {

BOOST_AUTO_TEST_SUITE(support)

BOOST_AUTO_TEST_CASE(the_first_difference_is_shown_with_two_lines_before_it) {
  BOOST_TEST(first_difference("a\nb\n", "a\nb\n") == "");
  BOOST_TEST(first_difference("a\nb\nc\nd\ne\n", "a\nb\nc\nx\ne\n") == "@@ line 4 @@\n b\n c\n-d\n+x\n");
  BOOST_TEST(first_difference("a\n", "a\nb\n") == "@@ line 2 @@\n a\n-(end)\n+b\n");
  BOOST_TEST(first_difference("", "a\n") == "@@ line 1 @@\n-(end)\n+a\n");
  BOOST_TEST(first_difference("a\n", "a") == "@@ line 1 @@\n-a\n+a (no newline at the end)\n");
}

BOOST_AUTO_TEST_CASE(a_temporary_directory_is_new_and_goes_with_its_scope) {
  std::filesystem::path path;
  {
    const TemporaryDirectory first, second;
    path = first.path();
    BOOST_TEST(path != second.path());
    BOOST_TEST(std::filesystem::is_empty(path));
    write_file(first / "deep" / "file", std::string_view("\0\r\n", 3));
    BOOST_TEST(read_file(first / "deep" / "file") == std::string("\0\r\n", 3));
  }
  BOOST_TEST(!std::filesystem::exists(path));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_is_named) {
  BOOST_CHECK_EXCEPTION(read_file("/nowhere/at-all"), std::runtime_error, [](const std::runtime_error& error) {
    return std::string(error.what()) == "cannot read /nowhere/at-all";
  });
}

BOOST_AUTO_TEST_CASE(tests_run_in_the_source_folder_and_golden_texts_lie_in_it) {
  BOOST_TEST(std::filesystem::exists(source_dir() / "tests" / "support" / "support.h"));
  BOOST_TEST(std::source_location::current().file_name() == "tests/support/support_test.cpp");
  golden("sample.txt", "two lines,\nas they were.\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::test::support_test
