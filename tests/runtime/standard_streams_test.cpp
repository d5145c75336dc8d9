#include "runtime/standard_streams.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <string_view>

namespace kb::print_error_test {

BOOST_AUTO_TEST_SUITE(print_errors)

// A socket of this kind keeps apart what is written by one call and by the next.
BOOST_AUTO_TEST_CASE(a_line_is_written_in_one_piece) {
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  print_error("two words");
  ::dup2(before, STDERR_FILENO);
  std::array<char, 64> got{};
  const ssize_t size = ::recv(ends[0], got.data(), got.size(), MSG_DONTWAIT);
  BOOST_TEST(std::string_view(got.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))) == "two words\n");
  for (const int descriptor : {before, ends[0], ends[1]}) ::close(descriptor);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::print_error_test
