#include "tests/support/short_checks.h"

#include <fmt/format.h>

#include <mutex>

namespace kb::test {
namespace {

namespace details = boost::test_tools::tt_detail;

// Boost.Test counts and logs without locks, and a test's ranks check in threads of their own.
std::mutex& boost_test() {
  static std::mutex mutex;
  return mutex;
}

void report(const boost::test_tools::assertion_result& result, const Check& check, details::check_type type) {
  const std::lock_guard lock(boost_test());
  details::report_assertion(result, boost::unit_test::lazy_ostream::instance() << check.text, check.file,
                            static_cast<size_t>(check.line), check.level, type, 0);
}

}  // namespace

void report_check(const boost::test_tools::assertion_result& result, const Check& check) {
  report(result, check, details::CHECK_BUILT_ASSERTION);
}

void report_outcome(const boost::test_tools::assertion_result& result, const Check& check) {
  report(result, check, details::CHECK_MSG);
}

Compared report_comparison(bool holds, const Check& check, Printable left, const char* failed, Printable right) {
  boost::test_tools::assertion_result result(holds);
  if (!holds) {
    std::ostream& to = result.message().stream();
    to << " [";
    left.print(to, left.value);
    to << failed;
    right.print(to, right.value);
    to << "]";
  }
  report_check(result, check);
  return {};
}

void pass_line(const char* file, int line) {
  const std::lock_guard lock(boost_test());
  boost::unit_test::unit_test_log.set_checkpoint(file, static_cast<size_t>(line));
}

void enter_case() {
  const boost::unit_test::test_case& test = boost::unit_test::framework::current_test_case();
  boost::unit_test::unit_test_log.set_checkpoint(test.p_file_name, test.p_line_num,
                                                 fmt::format("\"{}\" entry", test.p_name.get()));
}

boost::unit_test::test_case* make_case(void (*run)(), const char* name, const char* file, int line) {
  return boost::unit_test::make_test_case(run, name, file, static_cast<size_t>(line));
}

}  // namespace kb::test
