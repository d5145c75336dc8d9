#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/file_error.h"
#include "runtime/input_file.h"
#include "tests/support/file_faults.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::atomic_file_test {

namespace fs = std::filesystem;
using kb::AtomicFile;
using kb::test::Flushes;
using kb::test::FlushFault;
using kb::test::Lacking;
using kb::test::SmallDisk;
using kb::test::TemporaryDirectory;

namespace {

int64_t files_in(const fs::path& directory) {
  return std::distance(fs::directory_iterator(directory), fs::directory_iterator());
}

bool says_no_space(const kb::Error& error) {
  const std::string text = error.what();
  return text.find("No space left on device") != std::string::npos &&
         text.find("; 0.2 MB are needed, 0.1 MB are free") != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(atomic_file)

BOOST_AUTO_TEST_CASE(written_whole_and_nothing_beside_it) {
  TemporaryDirectory scratch;
  const std::string content = std::string(100000, 'x') + '\0' + "end";
  const Flushes flushes;
  kb::write_file_atomically(scratch / "file", content);
  BOOST_TEST((kb::read_file(scratch / "file") == content));
  kb::write_file_atomically(scratch / "file", "second");
  BOOST_TEST(kb::read_file(scratch / "file") == "second");
  BOOST_TEST(files_in(scratch.path()) == 1);
  BOOST_TEST(flushes.files() == 2);
  BOOST_TEST(flushes.folders() == 2);
}

BOOST_AUTO_TEST_CASE(written_once_it_stays_as_it_is) {
  TemporaryDirectory scratch;
  const Flushes flushes;
  BOOST_TEST(kb::write_file_once(scratch / "file", "first"));
  BOOST_TEST(flushes.files() == 1);
  BOOST_TEST(flushes.folders() == 1);
  BOOST_TEST(!kb::write_file_once(scratch / "file", "second"));
  fs::last_write_time(scratch / "file", fs::file_time_type::clock::now() - std::chrono::hours(1));
  BOOST_TEST(!kb::write_file_once(scratch / "file", "second"));
  BOOST_TEST(kb::read_file(scratch / "file") == "first");
  BOOST_TEST(files_in(scratch.path()) == 1);
  BOOST_CHECK_THROW(kb::write_file_once(scratch / "none" / "file", "x"), kb::Error);
}

// A file whose process was killed shows by its length that nothing was written.
BOOST_AUTO_TEST_CASE(room_that_is_set_aside_has_no_length) {
  TemporaryDirectory scratch;
  const AtomicFile file(scratch / "file", 100000);
  BOOST_TEST(fs::file_size(fs::directory_iterator(scratch.path())->path()) == 0u);
}

// Signals and file systems cut reads and writes into pieces.
BOOST_AUTO_TEST_CASE(written_and_read_in_pieces) {
  TemporaryDirectory scratch;
  std::string content;
  for (int i = 0; i < 1000; ++i) content += std::to_string(i);
  const kb::test::Stutter stutter(700);
  kb::write_file_atomically(scratch / "file", content);
  BOOST_TEST((kb::read_file(scratch / "file") == content));
  BOOST_TEST((kb::InputFile(scratch / "file").read(50, 1500) == content.substr(50, 1500)));
}

BOOST_AUTO_TEST_CASE(a_full_disk_and_a_used_quota_tell_the_room) {
  for (const int error : {ENOSPC, EDQUOT})
    BOOST_CHECK_EXCEPTION(kb::throw_file_error("write", "/tmp/x", error, 2'000'000), kb::FileError,
                          kb::test::says("cannot write /tmp/x: ", "; 2.0 MB are needed, ", " MB are free"));
}

// write_file_once() makes the target by a link; without links by a rename that replaces nothing; without both by an
// exclusive open.
BOOST_AUTO_TEST_CASE(written_once_without_links) {
  for (const auto& [link, rename] : {std::pair{EPERM, 0}, {ENOSYS, EINVAL}, {EOPNOTSUPP, ENOSYS}}) {
    const Lacking lacking(link, rename);
    TemporaryDirectory scratch;
    BOOST_TEST(kb::write_file_once(scratch / "file", "first"));
    BOOST_TEST(!kb::write_file_once(scratch / "file", "second"));
    BOOST_TEST(kb::read_file(scratch / "file") == "first");
    BOOST_TEST(files_in(scratch.path()) == 1);
    BOOST_CHECK_THROW(kb::write_file_once(scratch / "none" / "file", "x"), kb::Error);
  }
}

// The process that made an empty target was killed, or is about to write it. Its age decides which of the two holds.
BOOST_AUTO_TEST_CASE(what_is_empty_for_long_is_written_by_the_next) {
  for (const auto& [link, rename] : {std::pair{0, 0}, {EPERM, 0}, {EPERM, EINVAL}}) {
    const Lacking lacking(link, rename);
    TemporaryDirectory scratch;
    kb::test::write_file(scratch / "file", "");
    BOOST_TEST(!kb::write_file_once(scratch / "file", "second"));
    BOOST_TEST(kb::read_file(scratch / "file") == "");
    fs::last_write_time(scratch / "file",
                        fs::last_write_time(scratch / "file") - std::chrono::seconds(kb::kAbandonedSeconds + 2));
    BOOST_TEST(kb::write_file_once(scratch / "file", "second"));
    BOOST_TEST(kb::read_file(scratch / "file") == "second");
    BOOST_TEST(files_in(scratch.path()) == 1);
  }
}

BOOST_AUTO_TEST_CASE(no_error_is_called_a_success) {
  const auto says = [](const std::string& expected) {
    return [expected](const kb::Error& error) { return error.what() == expected; };
  };
  BOOST_CHECK_EXCEPTION(kb::throw_file_error("write", "x", 0), kb::Error,
                        says("cannot write x: the system gives no reason"));
  BOOST_CHECK_EXCEPTION(kb::throw_file_error("write", "x", EACCES), kb::Error,
                        says("cannot write x: Permission denied"));
}

BOOST_AUTO_TEST_CASE(not_committed_means_not_there) {
  TemporaryDirectory scratch;
  kb::write_file_atomically(scratch / "file", "old");
  {
    AtomicFile file(scratch / "file");
    file.write("half of the n");
    BOOST_TEST(files_in(scratch.path()) == 2);
  }
  BOOST_TEST(kb::read_file(scratch / "file") == "old");
  BOOST_TEST(files_in(scratch.path()) == 1);
}

BOOST_AUTO_TEST_CASE(two_writers_of_one_target_do_not_mix) {
  TemporaryDirectory scratch;
  AtomicFile first(scratch / "file"), second(scratch / "file");
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  BOOST_TEST(kb::read_file(scratch / "file") == "first");
  BOOST_TEST(files_in(scratch.path()) == 1);
  BOOST_CHECK_THROW(first.commit(), kb::InternalError);
}

BOOST_AUTO_TEST_CASE(errors_name_the_path_and_the_reason) {
  TemporaryDirectory scratch;
  const std::string target = (scratch / "none/file").string();
  BOOST_TEST(test::error_of([&] { AtomicFile file(target); }) ==
             "cannot write " + target + ": No such file or directory");
  BOOST_TEST(test::error_of([&] { kb::read_file(target); }) == "cannot read " + target + ": No such file or directory");
  fs::create_directory(scratch / "taken");
  BOOST_CHECK_THROW(kb::write_file_atomically(scratch / "taken", "x"), kb::Error);
  BOOST_TEST(files_in(scratch.path()) == 1);
}

// A rename would put a regular file in the place of each of these.
BOOST_AUTO_TEST_CASE(what_is_no_regular_file_is_not_replaced) {
  TemporaryDirectory scratch;
  const fs::path fifo = scratch / "fifo", link = scratch / "link", loop = scratch / "loop";
  BOOST_REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  fs::create_symlink(fifo, link);
  fs::create_symlink(loop, loop);
  const std::pair<fs::path, std::string> cases[] = {{fifo, "expected a file, or none yet, got a FIFO"},
                                                    {link, "expected a file, or none yet, got a FIFO"},
                                                    {"/dev/null", "expected a file, or none yet, got a device"},
                                                    {scratch.path(), "expected a file, or none yet, got a folder"},
                                                    {loop, "Too many levels of symbolic links"}};
  for (const auto& [path, why] : cases)
    BOOST_CHECK_EXCEPTION(kb::write_file_atomically(path, "x"), kb::Error,
                          kb::test::says("cannot write " + path.string() + ": " + why));
  BOOST_TEST(fs::is_fifo(fifo));
  BOOST_TEST(fs::is_character_file("/dev/null"));
  BOOST_TEST(files_in(scratch.path()) == 3);
}

BOOST_AUTO_TEST_CASE(a_link_stays_and_what_it_leads_to_is_replaced) {
  TemporaryDirectory scratch;
  fs::create_directory(scratch / "deep");
  fs::create_symlink("deep/file", scratch / "link");
  kb::write_file_atomically(scratch / "deep/file", "first");
  kb::write_file_atomically(scratch / "link", "second");
  BOOST_TEST(fs::is_symlink(scratch / "link"));
  BOOST_TEST(kb::read_file(scratch / "deep/file") == "second");
}

BOOST_AUTO_TEST_CASE(a_link_stays_and_what_it_leads_to_is_made) {
  TemporaryDirectory scratch;
  fs::create_directory(scratch / "deep");
  fs::create_symlink("deep/file", scratch / "link");
  fs::create_symlink(scratch / "link", scratch / "deep/back");
  for (const char* link : {"link", "deep/back"}) {
    kb::write_file_atomically(scratch / link, link);
    BOOST_TEST(fs::is_symlink(scratch / link));
    BOOST_TEST(kb::read_file(scratch / "deep/file") == link);
    fs::remove(scratch / "deep/file");
  }
  fs::create_symlink("nowhere/file", scratch / "lost");
  BOOST_CHECK_THROW(kb::write_file_atomically(scratch / "lost", "x"), kb::Error);
  BOOST_TEST(fs::is_symlink(scratch / "lost"));
}

// A checkpoint whose name may be lost must not count as one: older ones are removed then.
BOOST_AUTO_TEST_CASE(a_directory_that_cannot_be_flushed_is_told) {
  TemporaryDirectory scratch;
  const fs::path file = scratch / "file";
  for (const auto& [error, why] : {std::pair{EIO, "Input/output error"}, {ENOSPC, "No space left on device"}}) {
    const FlushFault fault(error);
    BOOST_CHECK_EXCEPTION(kb::write_file_atomically(file, "x"), kb::Error,
                          kb::test::says("cannot write " + file.string() + ": " + why));
  }
  const FlushFault unknown(EINVAL);
  BOOST_CHECK_NO_THROW(kb::write_file_atomically(file, "y"));
  BOOST_TEST(kb::read_file(file) == "y");
  BOOST_TEST(files_in(scratch.path()) == 1);
}

BOOST_AUTO_TEST_CASE(a_full_disk_keeps_the_old_file) {
  TemporaryDirectory scratch;
  SmallDisk disk(scratch.path(), 64);
  if (!disk.mounted()) {
    BOOST_TEST_MESSAGE("skipped: no small file system can be mounted: " << disk.reason());
    return;
  }
  kb::write_file_atomically(scratch / "file", "old");
  BOOST_CHECK_EXCEPTION(kb::write_file_atomically(scratch / "file", std::string(200000, 'x')), kb::Error,
                        says_no_space);
  BOOST_TEST(kb::read_file(scratch / "file") == "old");
  BOOST_TEST(files_in(scratch.path()) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::atomic_file_test
