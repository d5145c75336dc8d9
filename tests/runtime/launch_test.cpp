// Tests a launcher in a child process: the signals that reach its command, the processes that it leaves, and its exit
// code.
#include "runtime/launch.h"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/error.h"
#include "tests/support/says.h"
#include "tests/support/scoped_variable.h"
#include "tests/support/support.h"

namespace kb::launch_test {
namespace {

namespace fs = std::filesystem;

// A shell's words that say that its processes have met.
const std::string kMeet = "kill -URG $KB_LAUNCHED_BY; ";

// Words of a shell that runs on until a signal ends it.
const std::string kWaits = "while :; do sleep 0.01; done";

int run_shell(const std::string& line) { return run_launcher({"/bin/sh", "-c", line}); }

// Runs the line in a process of its own, to which signals can be sent, and gives its exit code.
class Launching {
 public:
  // The file gets what the process says on standard error.
  explicit Launching(const std::string& line, const std::string& said = "/dev/null", int meet_seconds = kMeetSeconds)
      : process_(::fork()) {
    if (process_ != 0) return;
    ::dup2(::open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    ::_exit(run_launcher({"/bin/sh", "-c", line}, meet_seconds));
  }
  void signal(int number) const { ::kill(process_, number); }
  int wait() const {
    int status = 0;
    ::waitpid(process_, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t process_;
};

// While it lives, this process may have so many files open.
class FileLimit {
 public:
  explicit FileLimit(rlim_t files) {
    BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit low{files, before_.rlim_max};
    BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

struct Fixture {
  test::TemporaryDirectory folder;
  const std::string there = (folder / "there").string(), child = (folder / "child").string();

  static void wait_for(const std::string& file) {
    while (!fs::exists(file) || fs::file_size(file) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // Launches a shell that runs the words, writes `there` and runs on, and then sends the launching process a signal.
  // Returns the exit code of that process.
  int code_after(const std::string& words, int number, const std::string& runs_on = kWaits) const {
    fs::remove(there);
    const Launching launching(words + "echo . > " + there + "; " + runs_on);
    wait_for(there);
    launching.signal(number);
    return launching.wait();
  }
  bool child_is_alive() const { return ::kill(std::stoi(test::read_file(child)), 0) == 0; }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(launch, Fixture)

BOOST_AUTO_TEST_CASE(gives_the_exit_code) {
  BOOST_TEST(run_shell("exit 0") == 0);
  BOOST_TEST(run_shell("exit 7") == 7);
  BOOST_TEST(run_shell("kill -KILL $$") == 128 + SIGKILL);
  BOOST_TEST(run_shell("read line; test $? -ne 0 -a \"$(ps -o sid= -p $$ | xargs)\" = $$") == 0);
  BOOST_TEST(test::error_of([&] { run_launcher({"/nowhere/mpirun"}); }) ==
             "cannot start /nowhere/mpirun: No such file or directory");
}

BOOST_AUTO_TEST_CASE(a_start_that_fails_holds_no_signal_back) {
  {
    const FileLimit none(0);
    BOOST_CHECK_THROW(run_shell("exit 0"), Error);
  }
  sigset_t held;
  BOOST_REQUIRE(::sigprocmask(SIG_BLOCK, nullptr, &held) == 0);
  BOOST_TEST(::sigismember(&held, SIGTERM) == 0);
}

// Every signal is handed on as one SIGUSR1: at any other signal mpirun kills its processes. The shell waits for no
// child, because a shell that waits may take the signals that are blocked.
BOOST_AUTO_TEST_CASE(hands_a_signal_on) {
  const std::string words = "trap 'exit 138' USR1; trap 'exit 1' HUP INT TERM USR2; kill -TERM $$; ";
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2})
    BOOST_TEST(code_after(words, number, "while :; do :; done") == 128 + number);
}

// A command that ends by itself with another code, for a reason of its own, has this code passed on.
BOOST_AUTO_TEST_CASE(keeps_the_code_of_what_failed) {
  BOOST_TEST(code_after(kMeet + "trap 'exit 1' USR1; ", SIGTERM) == 1);
}

BOOST_AUTO_TEST_CASE(a_second_signal_ends_all) {
  const Launching launching(kMeet + "trap 'echo . > " + there + "' USR1; sleep 1000 & echo $! > " + child + "; " +
                            kWaits);
  wait_for(child);
  launching.signal(SIGINT);
  wait_for(there);
  launching.signal(SIGINT);
  BOOST_TEST(launching.wait() == 128 + SIGINT);
  while (child_is_alive()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// The shell takes no notice of what is handed on, as an mpirun does that cannot start its processes.
BOOST_AUTO_TEST_CASE(a_signal_before_the_processes_have_met_ends_all) {
  BOOST_TEST(code_after("trap '' USR1; ", SIGTERM) == 128 + SIGTERM);
}

// A signal that was handed on before there were processes reaches them when they have met.
BOOST_AUTO_TEST_CASE(a_signal_is_handed_on_again_when_the_processes_have_met) {
  BOOST_TEST(code_after("trap \"" + kMeet + "trap 'exit 138' USR1\" USR1; ", SIGTERM) == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_command_that_fails_before_its_processes_have_met_is_told) {
  BOOST_TEST(Launching("exit 7", there).wait() == 7);
  BOOST_TEST(
      test::read_file(there) ==
      "/bin/sh has ended with exit code 7 before its processes had met\n"
      "  hint:     OMPI_MCA_orte_execute_quiet=0 before the command lets it say why, where nothing above does\n");
  for (const std::string& line : {kMeet + "exit 7", std::string("exit 0")}) {
    Launching(line, there).wait();
    BOOST_TEST(test::read_file(there).empty(), line);
  }
}

// The processes meet only once the line has said that they have not.
BOOST_AUTO_TEST_CASE(processes_that_do_not_meet_are_told) {
  const std::string waits = "until test -s " + there + "; do sleep 0.01; done; ";
  BOOST_TEST(Launching(waits + kMeet + "exit 0", there, 0).wait() == 0);
  BOOST_TEST(test::read_file(there).starts_with("the processes of /bin/sh have not met after 0 s: one of them may be"));
}

BOOST_AUTO_TEST_CASE(a_launcher_that_has_ended_is_known) {
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ::waitpid(ended, nullptr, 0);
  BOOST_TEST(!say_met(ended));
  BOOST_TEST(say_met(0));
  BOOST_TEST(say_met(::getpid()));
}

BOOST_AUTO_TEST_CASE(the_command_knows_who_launched_it_and_mpirun_is_quiet) {
  const test::ScopedVariable unset("OMPI_MCA_orte_execute_quiet", std::nullopt);
  BOOST_TEST(run_shell("test $KB_LAUNCHED_BY = $PPID -a $OMPI_MCA_orte_execute_quiet = 1") == 0);
  const test::ScopedVariable loud("OMPI_MCA_orte_execute_quiet", "0"), other("KB_LAUNCHED_BY", "1");
  BOOST_TEST(run_shell("test $KB_LAUNCHED_BY = $PPID -a $OMPI_MCA_orte_execute_quiet = 0") == 0);
}

// mpirun stands still where it may have no more files open.
BOOST_AUTO_TEST_CASE(the_command_may_open_more_files_than_a_shell_leaves) {
  const FileLimit low(64);
  BOOST_TEST(run_shell("test $(ulimit -Sn) -gt 64") == 0);
}

BOOST_AUTO_TEST_CASE(leaves_nothing_behind) {
  BOOST_TEST(run_shell("sleep 1000 & echo $! > " + child + "; kill -KILL $$") == 128 + SIGKILL);
  while (child_is_alive()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

BOOST_AUTO_TEST_CASE(the_command_hears_of_the_launchers_death) {
  BOOST_TEST(code_after("trap 'echo . > " + child + "; exit' USR1; ", SIGKILL) == 128 + SIGKILL);
  wait_for(child);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::launch_test
