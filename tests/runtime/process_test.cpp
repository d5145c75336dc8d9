#include "runtime/process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>

#include "graph/error.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::process_test {

BOOST_AUTO_TEST_SUITE(process)

namespace {

// Writes a program that prints a word.
void make_program(const std::filesystem::path& path, const std::string& word) {
  kb::test::write_file(path, "#!/bin/sh\necho " + word + "\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_running_program_starts_itself_whatever_lies_in_its_place) {
  const kb::test::TemporaryDirectory scratch;
  const std::filesystem::path program = scratch / "program";
  std::filesystem::copy_file("/bin/sleep", program);
  kb::Process running(
      {"/bin/sh", "-c", "echo $$ > " + (scratch / "number").string() + "; exec " + program.string() + " 60"});
  std::error_code error;
  std::string lasting;
  while (lasting.empty() || !std::filesystem::equivalent(lasting, program, error)) {
    ::usleep(1000);
    if (std::filesystem::exists(scratch / "number", error))
      lasting = "/proc/" + std::to_string(std::atoi(kb::test::read_file(scratch / "number").c_str())) + "/exe";
  }
  std::filesystem::remove(program);
  make_program(program, "another");
  BOOST_TEST(kb::Process({program}).wait().output == "another\n");
  BOOST_TEST(kb::Process({lasting, "0"}).wait().status == 0);
  running.signal(SIGKILL);
  BOOST_TEST(kb::running_program() == "/proc/" + std::to_string(::getpid()) + "/exe");
  BOOST_TEST(kb::own_program() == std::filesystem::read_symlink("/proc/self/exe").string());
}

BOOST_AUTO_TEST_CASE(output_and_status) {
  kb::Process process({"/bin/sh", "-c", "echo out; echo err >&2; exit 7"});
  const kb::ProcessResult result = process.wait();
  BOOST_TEST(result.status == 7);
  BOOST_TEST(result.output == "out\nerr\n");
}

// If standard output is closed, the file that catches the output has its number.
BOOST_AUTO_TEST_CASE(output_of_a_process_whose_own_is_closed) {
  const pid_t closed = ::fork();
  if (closed == 0) {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(descriptor);
    if (::open("/dev/null", O_RDONLY) != STDIN_FILENO) ::_exit(2);
    kb::Process process({"/bin/sh", "-c", "echo out; echo err >&2; cat; test -e /proc/self/fd/0"});
    const kb::ProcessResult result = process.wait();
    ::_exit(result.status == 0 && result.output == "out\nerr\n" ? 0 : 1);
  }
  int status = -1;
  ::waitpid(closed, &status, 0);
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_CASE(more_output_than_a_pipe_holds) {
  kb::Process process({"/bin/sh", "-c", "head -c 300000 /dev/zero"});
  BOOST_TEST(process.wait().output.size() == 300000u);
}

BOOST_AUTO_TEST_CASE(a_signal_is_a_status) {
  kb::Process process({"/bin/sh", "-c", "kill -9 $$"});
  BOOST_TEST(process.wait().status == 137);
}

BOOST_AUTO_TEST_CASE(a_signal_reaches_the_child) {
  kb::Process process({"/bin/sleep", "30"});
  process.signal(SIGKILL);
  BOOST_TEST(process.wait().status == 137);
}

BOOST_AUTO_TEST_CASE(a_signal_that_the_starting_thread_blocks_reaches_the_child) {
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &before);
  kb::Process process({"/bin/sleep", "30"});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  process.signal(SIGTERM);
  BOOST_TEST(process.wait().status == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_signal_that_is_ignored_here_is_ignored_by_the_child) {
  const auto before = std::signal(SIGUSR2, SIG_IGN);
  const kb::ProcessResult result = kb::Process({"/bin/sh", "-c", "kill -USR2 $$; echo lives"}).wait();
  std::signal(SIGUSR2, before);
  BOOST_TEST(result.output == "lives\n");
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there) {
  BOOST_TEST(test::error_of([&] { kb::Process({"/nowhere/program"}); }) ==
             "cannot start /nowhere/program: No such file or directory");
}

BOOST_AUTO_TEST_CASE(a_child_nobody_waits_for_is_ended) {
  int pipe[2];
  BOOST_REQUIRE(::pipe(pipe) == 0);
  { kb::Process process({"/bin/sleep", "1000000"}); }
  ::close(pipe[1]);
  char byte = 0;
  BOOST_TEST(::read(pipe[0], &byte, 1) == 0);  // the end: the child, which had the other side too, is gone
  ::close(pipe[0]);
}

// The child has the other side of a pipe open, which ends with it.
BOOST_AUTO_TEST_CASE(a_child_ends_with_its_parent_where_that_is_asked_for) {
  int pipe[2], started[2];
  BOOST_REQUIRE(::pipe(pipe) == 0);
  BOOST_REQUIRE(::pipe2(started, O_CLOEXEC) == 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    kb::Process process({"/bin/sleep", "1000000"}, kb::Orphan::ends);
    if (::write(started[1], "", 1) == 1) ::pause();
    ::_exit(1);
  }
  ::close(pipe[1]);
  char byte = 0;
  BOOST_REQUIRE(::read(started[0], &byte, 1) == 1);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  BOOST_TEST(::read(pipe[0], &byte, 1) == 0);
  for (const int descriptor : {pipe[0], started[0], started[1]}) ::close(descriptor);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::process_test
