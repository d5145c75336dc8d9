#include "runtime/launch.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "graph/error.h"

namespace kb {
namespace {

constexpr int kHandedOn = SIGUSR1;

sigset_t set_of(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

std::optional<pid_t> whole_number(std::string_view text) {
  pid_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// Sends the signal to every process of a session; returns their number.
int signal_session(pid_t session, int number) {
  int count = 0;
  DIR* processes = ::opendir("/proc");
  if (!processes) return 0;
  while (const dirent* entry = ::readdir(processes)) {
    const std::optional<pid_t> process = whole_number(entry->d_name);
    if (!process || ::getsid(*process) != session) continue;
    if (::kill(*process, number) == 0) ++count;
  }
  ::closedir(processes);
  return count;
}

class Launched {
 public:
  explicit Launched(const std::vector<std::string>& command) : name_(command.at(0)) {
    const sigset_t awaited = set_of({SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGCHLD});
    sigprocmask(SIG_BLOCK, &awaited, &before_);
    awaited_ = awaited;
    start(command);
  }
  ~Launched() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

  int wait() {
    int status = 0;
    for (;;) {
      const int number = sigwaitinfo(&awaited_, nullptr);
      if (number == SIGCHLD) {
        siginfo_t info{};
        // The child is not reaped yet: until it is, no other process gets the number of its session.
        if (::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == child_)
          break;
      } else if (number == SIGTSTP) {
        suspend();
      } else if (number > 0) {
        hand_on(number);
      }
    }
    const int left = signal_session(child_, SIGKILL) - 1;  // does not count the child itself
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status) && first_ == 0)
      fmt::print(stderr, "{} was ended by signal {}, and {} of its processes with it\n", name_, WTERMSIG(status),
                 std::max(0, left));
    return code(status);
  }

 private:
  void start(const std::vector<std::string>& command) {
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    std::array<int, 2> fault{};
    if (::pipe2(fault.data(), O_CLOEXEC) != 0) throw Error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    const pid_t parent = ::getpid();
    child_ = ::fork();
    if (child_ == 0) become(words, parent, fault[1]);
    int error = child_ < 0 ? errno : 0;
    ::close(fault[1]);
    if (child_ > 0 && ::read(fault[0], &error, sizeof error) == sizeof error) ::waitpid(child_, nullptr, 0);
    ::close(fault[0]);
    if (error == 0) return;
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    throw Error(fmt::format("cannot start {}: {}", command[0], std::strerror(error)));
  }

  // Runs in the child. mpirun does not handle the signals that are blocked here; the processes that it starts get none
  // of these masks.
  [[noreturn]] void become(std::vector<char*>& words, pid_t parent, int fault) {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, kHandedOn);
    if (::getppid() != parent) ::_exit(128 + kHandedOn);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
    sigset_t shielded = before_;
    for (const int number : {SIGHUP, SIGINT, SIGTERM}) sigaddset(&shielded, number);
    sigprocmask(SIG_SETMASK, &shielded, nullptr);
    ::execv(words[0], words.data());
    const int error = errno;
    ::_exit(::write(fault, &error, sizeof error) == sizeof error ? 127 : 126);
  }

  void hand_on(int number) {
    if (first_ == 0) {
      first_ = number;
      ::kill(child_, kHandedOn);
      return;
    }
    forced_ = true;
    signal_session(child_, SIGKILL);
  }

  void suspend() const {
    signal_session(child_, SIGSTOP);
    ::kill(::getpid(), SIGSTOP);
    signal_session(child_, SIGCONT);
  }

  int code(int status) const {
    const int own = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return first_ != 0 && (forced_ || own == 128 + kHandedOn) ? 128 + first_ : own;
  }

  const std::string name_;
  sigset_t before_{}, awaited_{};
  pid_t child_ = -1;
  int first_ = 0;        // the first signal that was handed on
  bool forced_ = false;  // a second signal came
};

}  // namespace

int run_launcher(const std::vector<std::string>& command) { return Launched(command).wait(); }

}  // namespace kb
