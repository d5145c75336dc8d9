#include "runtime/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/atomic_file.h"
#include "runtime/file_error.h"

namespace kb {
namespace {

pid_t start(const std::vector<std::string>& argv, int output) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  // The child starts with no signal blocked, whatever this thread blocks.
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, argv[0].c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
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

Process::Process(const std::vector<std::string>& argv) {
  ensure(!argv.empty(), "Process: no program");
  output_ = ::memfd_create("output", MFD_CLOEXEC);
  if (output_ < 0) throw_file_error("catch the output of", argv[0], errno);
  try {
    child_ = start(argv, output_);
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
