#include "runtime/input_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "graph/error.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::input_file_test {

namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(input_file)

BOOST_AUTO_TEST_CASE(bytes_are_those_asked_for) {
  kb::test::TemporaryDirectory scratch;
  kb::test::write_file(scratch / "file", "0123456789");
  const kb::InputFile file(scratch / "file");
  BOOST_TEST(file.size() == 10u);
  BOOST_TEST(file.read(2, 3) == "234");
  char some[8];
  BOOST_TEST(file.read_some(7, some, sizeof some) == 3u);
  const std::string path = (scratch / "file").string();
  BOOST_TEST(test::error_of([&] { file.read(7, 4); }) ==
             "cannot read " + path + ": it ends after 10 bytes, of which 11 were expected");
}

// The file has a hole of 3 GiB before its end.
BOOST_AUTO_TEST_CASE(bytes_behind_two_gigabytes) {
  kb::test::TemporaryDirectory scratch;
  kb::test::write_file(scratch / "file", "begin");
  fs::resize_file(scratch / "file", uintmax_t{3} << 30);
  std::ofstream(scratch / "file", std::ios::app) << "end";
  const kb::InputFile file(scratch / "file");
  BOOST_TEST(file.size() == (size_t{3} << 30) + 3);
  BOOST_TEST(file.read(size_t{3} << 30, 3) == "end");
}

BOOST_AUTO_TEST_CASE(files_without_a_size_are_read_to_their_end) {
  BOOST_TEST(test::contains(kb::read_file("/proc/self/status"), "Pid:"));
  kb::test::TemporaryDirectory scratch;
  for (const size_t size : {0, 4095, 4096, 4097, 12288}) {
    kb::test::write_file(scratch / "file", std::string(size, 'x'));
    BOOST_TEST(kb::read_file(scratch / "file").size() == size);
  }
}

// A read of one of these could wait for ever, or give an empty text or bytes without end.
BOOST_AUTO_TEST_CASE(what_is_no_regular_file_is_refused_by_name) {
  kb::test::TemporaryDirectory scratch;
  const fs::path fifo = scratch / "fifo", socket = scratch / "socket", folder = scratch / "folder";
  BOOST_REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  fs::create_directory(folder);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  BOOST_REQUIRE(socket.string().size() < sizeof address.sun_path);
  std::strcpy(address.sun_path, socket.c_str());
  BOOST_REQUIRE(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  fs::create_symlink(scratch / "loop", scratch / "loop");
  fs::create_symlink(fifo, scratch / "link");
  const std::pair<fs::path, std::string> cases[] = {
      {fifo, "expected a file, got a FIFO"},          {scratch / "link", "expected a file, got a FIFO"},
      {folder, "expected a file, got a folder"},      {"/dev/zero", "expected a file, got a device"},
      {socket, "No such device or address"},          {scratch / "loop", "Too many levels of symbolic links"},
      {scratch / "none", "No such file or directory"}};
  for (const auto& [path, why] : cases)
    BOOST_CHECK_EXCEPTION(kb::read_file(path), kb::Error, kb::test::says("cannot read " + path.string() + ": " + why));
  ::close(descriptor);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::input_file_test
