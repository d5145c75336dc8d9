#include "tests/support/support.h"

#include <boost/test/results_collector.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <iostream>
#include <source_location>
#include <sstream>
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

// Returns what Boost.Test writes while `work` runs.
std::string log_of(const std::function<void()>& work) {
  std::ostringstream log;
  boost::unit_test::unit_test_log.set_stream(log);
  work();
  boost::unit_test::unit_test_log.set_stream(std::cout);
  return log.str();
}

// These checks fail on purpose. If they were not counted, the requirement would end the test case.
BOOST_AUTO_TEST_CASE(a_short_check_that_fails_tells_its_text_and_both_values, *boost::unit_test::expected_failures(8)) {
  const std::vector<int> both = {1, 2}, other = {1, 3};
  const std::string abc = "abc";
  const std::string log = log_of([&] {
    BOOST_TEST(both.size() + 1 == 4);
    BOOST_TEST(both.size() < 2);
    BOOST_TEST(both == other);
    BOOST_TEST(both != both);
    BOOST_TEST(abc == "abd");
    BOOST_TEST(both.empty());
    BOOST_TEST(contains(abc, "bd"));
    BOOST_CHECK_THROW(static_cast<void>(both.size()), std::exception);
  });
  const auto id = boost::unit_test::framework::current_test_case().p_id;
  BOOST_REQUIRE(boost::unit_test::results_collector.results(id).p_assertions_failed.get() == 8);
  for (const char* text :
       {"check both.size() + 1 == 4 has failed [3 != 4]\n", "check both.size() < 2 has failed [2 >= 2]\n",
        "check both == other has failed [{ 1 2 } != { 1 3 }]\n", "check both != both has failed [{ 1 2 } == { 1 2 }]\n",
        "check abc == \"abd\" has failed [abc != abd]\n", "check both.empty() has failed\n",
        "check contains(abc, \"bd\") has failed: expected 'bd' in:\nabc\n",
        "exception std::exception expected but not raised\n", "tests/support/support_test.cpp("})
    BOOST_TEST(contains(log, text));
}

BOOST_AUTO_TEST_CASE(a_short_check_that_holds_says_nothing) {
  const std::vector<int> both = {1, 2};
  const char *abc = "abc", same[] = "abc";
  const std::string log = log_of([&] {
    BOOST_TEST(both.size() + 1 == 3);
    BOOST_TEST(abc == same);
    BOOST_TEST(contains(abc, "bc"));
    BOOST_TEST(!contains(abc, "bd"));
    BOOST_REQUIRE((both.empty() || both[0] == 1));
    BOOST_CHECK_NO_THROW(static_cast<void>(both.at(1)));
    BOOST_CHECK_EXCEPTION(static_cast<void>(both.at(2)), std::out_of_range, [](const std::exception&) { return true; });
  });
  BOOST_TEST(log == "");
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
