#include "tests/support/support.h"

#include <boost/test/results_collector.hpp>
#include <boost/test/unit_test.hpp>
#include <source_location>
#include <stdexcept>
#include <vector>

#include "tests/support/short_checks.h"

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

BOOST_AUTO_TEST_CASE(a_short_check_tells_both_values) {
  using Result = boost::test_tools::assertion_result;
  const auto text = [](const Result& result) {
    if (result) return std::string("passed");
    const boost::unit_test::const_string message = result.message();
    return message.is_empty() ? "failed" : std::string(message.begin(), message.end());
  };
  const std::vector<int> both = {1, 2}, other = {1, 3};
  const char *abc = "abc", same[] = "abc";
  BOOST_TEST(text(CheckStart{} << both.size() + 1 == 3) == "passed");
  BOOST_TEST(text(CheckStart{} << both.size() + 1 == 4) == " [3 != 4]");
  BOOST_TEST(text(CheckStart{} << both.size() < 2) == " [2 >= 2]");
  BOOST_TEST(text(CheckStart{} << both == other) == " [{ 1 2 } != { 1 3 }]");
  BOOST_TEST(text(CheckStart{} << both != both) == " [{ 1 2 } == { 1 2 }]");
  BOOST_TEST(text(CheckStart{} << abc == same) == "passed");
  BOOST_TEST(text(CheckStart{} << both.empty()) == "failed");
  BOOST_TEST(text(CheckStart{} << Result(true)) == "passed");
}

// The check fails on purpose. If it were not counted, the requirement would end the test case.
BOOST_AUTO_TEST_CASE(a_short_check_that_fails_is_counted, *boost::unit_test::expected_failures(1)) {
  const auto failed = [] {
    const auto id = boost::unit_test::framework::current_test_case().p_id;
    return boost::unit_test::results_collector.results(id).p_assertions_failed.get();
  };
  BOOST_TEST(1 + 1 == 2);
  BOOST_REQUIRE(failed() == 0);
  BOOST_TEST(1 + 1 == 3);
  BOOST_REQUIRE(failed() == 1);
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
