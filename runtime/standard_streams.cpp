#include "runtime/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace kb {

// A new descriptor gets the lowest free number, so the closed ones are opened in order.
void open_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", O_RDWR);
}

void print_error(std::string_view line) noexcept {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  std::clearerr(stderr);
}

std::string standard_output_fault(int earlier) {
  const bool has_failed = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !has_failed) return "";
  const int reason = errno != 0 ? errno : earlier;
  return "cannot write to standard output" + (reason == 0 ? "" : ": " + std::generic_category().message(reason));
}

}  // namespace kb
