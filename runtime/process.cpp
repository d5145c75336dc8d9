#include "runtime/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <system_error>

#include "runtime/atomic_file.h"
#include "runtime/file_error.h"
#include "runtime/threads.h"

// __clone() is the C library's other name of clone(). ThreadSanitizer replaces the usual one, and takes a child that
// shares the parent's memory for a fork: the thread that started it would be checked no more.
extern "C" int __clone(int (*body)(void*), void* stack, int flags, void* argument, ...) noexcept;

namespace kb {
namespace {

// Everything that a new process needs to become a program.
struct Start {
  char* const* argv;
  int input, output;
  Orphan orphan;
  pid_t parent;
  int error = 0;  // why it has not become the program
};

// A handler of the parent's would change memory that the child shares with it.
void forget_handlers() {
  struct sigaction action;
  for (int number = 1; number < NSIG; ++number) {
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    ::sigaction(number, &action, nullptr);
  }
}

// Makes `to` another number of the file `from`, which the program keeps open.
bool put(int from, int to) { return from == to ? ::fcntl(to, F_SETFD, 0) == 0 : ::dup2(from, to) >= 0; }

// Runs in the child, which shares the parent's memory until it becomes the program; the parent sleeps until then.
int become(void* given) {
  Start& start = *static_cast<Start*>(given);
  forget_handlers();
  if (start.orphan == Orphan::ends) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (start.orphan == Orphan::ends && ::getppid() != start.parent) return 128 + SIGTERM;
  if (put(start.input, STDIN_FILENO) && put(start.output, STDOUT_FILENO) && put(start.output, STDERR_FILENO)) {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);  // the program starts with no signal blocked
    ::execve(start.argv[0], start.argv, environ);
  }
  start.error = errno;
  return 127;
}

// Does what posix_spawn does, which cannot tie a child to its parent's life.
pid_t start(const std::vector<std::string>& argv, int output, Orphan orphan) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  constexpr size_t kStack = 64 << 10;
  const auto stack = std::make_unique<std::byte[]>(kStack);
  // The parent opens it: ThreadSanitizer takes a descriptor that the child opens for one of the parent's.
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0) throw_file_error("open", "/dev/null", errno);
  Start start{arguments.data(), nothing, output, orphan, ::getpid()};
  pid_t child = -1;
  int error = 0;
  {
    const NoSignals block;
    child = ::__clone(become, stack.get() + kStack, CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
    error = child < 0 ? errno : start.error;
  }
  ::close(nothing);
  if (child > 0 && error != 0) ::waitpid(child, nullptr, 0);
  if (error == EAGAIN)
    throw NoProcess(fmt::format(
        "cannot start {}: {}\n  hint:     the limit on the user's processes and threads (ulimit -u) or on the "
        "container's (pids.max) is reached: raise it, or run with fewer --threads, or less beside this",
        argv[0], std::generic_category().message(error)));
  if (error != 0) throw_file_error("start", argv[0], error);
  return child;
}

}  // namespace

std::string own_program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  const bool is_there = !error && std::filesystem::equivalent(path, "/proc/self/exe", error) && !error;
  return is_there ? path.string() : running_program();
}

std::string running_program() { return fmt::format("/proc/{}/exe", ::getpid()); }

Process::Process(const std::vector<std::string>& argv, Orphan orphan) {
  ensure(!argv.empty(), "Process: no program");
  output_ = ::memfd_create("output", MFD_CLOEXEC);
  if (output_ < 0) throw_file_error("catch the output of", argv[0], errno);
  try {
    child_ = start(argv, output_, orphan);
  } catch (...) {
    ::close(output_);
    throw;
  }
}

Process::~Process() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    reap();
  }
  ::close(output_);
}

bool Process::runs() const {
  siginfo_t end{};
  return child_ > 0 && ::waitid(P_PID, static_cast<id_t>(child_), &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         end.si_pid == 0;
}

void Process::signal(int number) {
  ensure(child_ > 0, "Process::signal to a child that is gone");
  ::kill(child_, number);
}

int Process::reap() {
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0)
    if (errno != EINTR) break;
  child_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

ProcessResult Process::wait() {
  ensure(child_ > 0, "Process::wait called twice");
  ProcessResult result{.status = reap(), .output = {}};
  const off_t size = ::lseek(output_, 0, SEEK_END);
  result.output.resize(size > 0 ? static_cast<size_t>(size) : 0);
  const ssize_t got = ::pread(output_, result.output.data(), result.output.size(), 0);
  result.output.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return result;
}

}  // namespace kb
