#include "runtime/process.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>

#include "graph/error.h"

namespace kb::process_test {

BOOST_AUTO_TEST_SUITE(process)

BOOST_AUTO_TEST_CASE(output_and_status) {
  kb::Process process({"/bin/sh", "-c", "echo out; echo err >&2; exit 7"});
  const kb::ProcessResult result = process.wait();
  BOOST_TEST(result.status == 7);
  BOOST_TEST(result.output == "out\nerr\n");
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

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there) {
  BOOST_CHECK_EXCEPTION(kb::Process({"/nowhere/program"}), kb::Error, [](const kb::Error& error) {
    return std::string(error.what()) == "cannot start /nowhere/program: No such file or directory";
  });
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::process_test
