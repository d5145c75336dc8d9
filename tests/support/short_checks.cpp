#include "tests/support/short_checks.h"

namespace kb::test {

void report_check(const boost::test_tools::assertion_result& result, const char* text, const char* file, size_t line) {
  namespace details = boost::test_tools::tt_detail;
  details::report_assertion(result, boost::unit_test::lazy_ostream::instance() << text, file, line, details::CHECK,
                            details::CHECK_BUILT_ASSERTION, 0);
}

}  // namespace kb::test
