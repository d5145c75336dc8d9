#include "runtime/comm/beat_page.h"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/error.h"
#include "tests/support/support.h"

namespace kb::beat_page_test {
namespace {

// Makes a page where /dev/shm is full, as a process of its own sees it; returns what that process says.
std::string page_without_room() {
  int pipe[2];
  BOOST_REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string said = "not mounted";
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4k") == 0;
    if (mounted) {
      test::write_file("/dev/shm/full", std::string(4096, 'x'));
      try {
        const auto communicator = make_local_communicator();
        BeatPage(*communicator)[0].step = 1;
        said = "made";
      } catch (const Error& error) {
        said = error.what();
      }
      std::error_code ignored;
      const std::filesystem::directory_iterator files("/dev/shm", ignored);
      said += fmt::format("; {} file", std::distance(begin(files), end(files)));
    }
    ::_exit(::write(pipe[1], said.data(), said.size()) == std::ssize(said) ? 0 : 1);
  }
  ::close(pipe[1]);
  char said[256] = "";
  const ssize_t got = ::read(pipe[0], said, sizeof said - 1);
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  return {said, static_cast<size_t>(std::max<ssize_t>(got, 0))};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(beat_page)

BOOST_AUTO_TEST_CASE(memory_for_which_there_is_no_room_is_told) {
  const std::string said = page_without_room();
  if (said == "not mounted") {
    BOOST_TEST_MESSAGE("skipped: no small file system can be mounted");
    return;
  }
  BOOST_TEST(said.starts_with("cannot make shared memory /kilobatch-"), said);
  BOOST_TEST(said.ends_with(": No space left on device; 1 file"), said);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::beat_page_test
