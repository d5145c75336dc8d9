#include "runtime/launch.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "graph/error.h"
#include "graph/parsed_number.h"
#include "runtime/standard_streams.h"

namespace kb {
namespace {

constexpr int kHandedOn = SIGUSR1;
// The processes have met. A process that knows nothing of this signal ignores it.
constexpr int kMet = SIGURG;
// OpenMPI reads this variable; its flag -q exists in version 4 alone.
constexpr const char* kQuiet = "OMPI_MCA_orte_execute_quiet";

sigset_t set_of(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  return set;
}

// Sends the signal to every process of a session; returns their number.
int signal_session(pid_t session, int number) {
  int count = 0;
  DIR* processes = ::opendir("/proc");
  if (!processes) return 0;
  while (const dirent* entry = ::readdir(processes)) {
    const std::optional<pid_t> process = parsed_number<pid_t>(entry->d_name);
    if (!process || ::getsid(*process) != session) continue;
    if (::kill(*process, number) == 0) ++count;
  }
  ::closedir(processes);
  return count;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// Returns the environment of this process, with its own number; mpirun is quiet in it unless the user says otherwise.
std::vector<std::string> variables_of_command() {
  const std::string own = std::string(kLaunchedBy) + "=", quiet = std::string(kQuiet) + "=";
  std::vector<std::string> variables = {fmt::format("{}{}", own, ::getpid())};
  bool is_told = false;
  for (char** entry = environ; *entry; ++entry) {
    if (!std::string_view(*entry).starts_with(own)) variables.emplace_back(*entry);
    is_told |= std::string_view(*entry).starts_with(quiet);
  }
  if (!is_told) variables.push_back(quiet + "1");
  return variables;
}

// Lets this process have more files open, of which mpirun needs some for each of its processes; a shell leaves 1024.
// Not all that the system allows, which may be a billion: there are programs that close each of them.
void allow_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = std::max(files.rlim_cur, std::min<rlim_t>(files.rlim_max, 1 << 16));
  ::setrlimit(RLIMIT_NOFILE, &files);
}

// While it lives, the signals of the set wait until they are asked for.
struct HeldSignals {
  explicit HeldSignals(const sigset_t& signals) : set(signals) { sigprocmask(SIG_BLOCK, &set, &before); }
  ~HeldSignals() { sigprocmask(SIG_SETMASK, &before, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  sigset_t set, before{};
};

class Launched {
 public:
  Launched(const std::vector<std::string>& command, int meet_seconds)
      : name_(command.at(0)), meet_seconds_(meet_seconds) {
    start(command);
  }

  int wait() {
    int status = 0;
    while (!has_ended()) take(next_signal());
    const int left = signal_session(child_, SIGKILL) - 1;  // does not count the child itself
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status) && first_ == 0)
      fmt::print(stderr, "{} was ended by signal {}, and {} of its processes with it\n", name_, WTERMSIG(status),
                 std::max(0, left));
    else if (status != 0 && first_ == 0 && !have_met())
      print_error(fmt::format(
          "{} has ended with exit code {} before its processes had met\n  hint:     {}=0 before the command "
          "lets it say why, where nothing above does",
          name_, WEXITSTATUS(status), kQuiet));
    return code(status);
  }

 private:
  void start(const std::vector<std::string>& command) {
    std::vector<char*> words = pointers(command);
    std::array<int, 2> fault{};
    const std::vector<std::string> variables = variables_of_command();
    std::vector<char*> environment = pointers(variables);
    if (::pipe2(fault.data(), O_CLOEXEC) != 0) throw Error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    const pid_t parent = ::getpid();
    child_ = ::fork();
    if (child_ == 0) become(words, environment, parent, fault[1]);
    int error = child_ < 0 ? errno : 0;
    ::close(fault[1]);
    if (child_ > 0 && ::read(fault[0], &error, sizeof error) == sizeof error) ::waitpid(child_, nullptr, 0);
    ::close(fault[0]);
    if (error != 0) throw Error(fmt::format("cannot start {}: {}", name_, std::strerror(error)));
  }

  // The child is not reaped yet: until it is, no other process gets the number of its session.
  bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child_;
  }

  // Waits for a signal. Returns 0 when the processes have not met kGraceSeconds after a signal was handed on, or, once,
  // meet_seconds_ after the start.
  int next_signal() const {
    const timespec patience{first_ == 0 ? meet_seconds_ : kGraceSeconds, 0};
    const bool may_last = met_ || (first_ == 0 && is_late_);
    const int number = may_last ? sigwaitinfo(&held_.set, nullptr) : sigtimedwait(&held_.set, nullptr, &patience);
    return number < 0 && errno == EAGAIN ? 0 : number;
  }

  void take(int number) {
    if (number == 0) return first_ == 0 ? tell_late() : kill_all();
    if (number == SIGTSTP) return suspend();
    if (number == kMet) return meet();
    if (number > 0 && number != SIGCHLD) hand_on(number);
  }

  void tell_late() {
    is_late_ = true;
    print_error(fmt::format(
        "the processes of {} have not met after {} s: one of them may be stopped, or wait for a file or a library\n"
        "  hint:     Ctrl-C ends all; /proc/PROCESS/stack and wchan tell what a process waits for",
        name_, meet_seconds_));
  }

  // An mpirun that had started no process yet had none to pass the signal to.
  void meet() {
    met_ = true;
    if (first_ != 0) ::kill(child_, kHandedOn);
  }

  // The word of a command that ended at once may still be pending.
  bool have_met() const {
    sigset_t pending;
    return met_ || (sigpending(&pending) == 0 && sigismember(&pending, kMet) == 1);
  }

  void kill_all() {
    forced_ = true;
    signal_session(child_, SIGKILL);
  }

  // Runs in the child. mpirun does not handle the signals that are blocked here; the processes that it starts get none
  // of these masks.
  [[noreturn]] void become(std::vector<char*>& words, std::vector<char*>& environment, pid_t parent, int fault) {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, kHandedOn);
    if (::getppid() != parent) ::_exit(128 + kHandedOn);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
    allow_files();
    sigset_t shielded = held_.before;
    for (const int number : {SIGHUP, SIGINT, SIGTERM}) sigaddset(&shielded, number);
    sigprocmask(SIG_SETMASK, &shielded, nullptr);
    ::execve(words[0], words.data(), environment.data());
    const int error = errno;
    ::_exit(::write(fault, &error, sizeof error) == sizeof error ? 127 : 126);
  }

  void hand_on(int number) {
    if (first_ == 0) {
      first_ = number;
      ::kill(child_, kHandedOn);
    } else {
      kill_all();
    }
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
  const HeldSignals held_{set_of({SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGCHLD, kMet})};
  pid_t child_ = -1;
  int first_ = 0;        // the first signal that was handed on
  bool forced_ = false;  // all were killed
  bool met_ = false;     // the processes have met
  const int meet_seconds_;
  bool is_late_ = false;  // a line has said that they have not met
};

}  // namespace

int run_launcher(const std::vector<std::string>& command, int meet_seconds) {
  return Launched(command, meet_seconds).wait();
}

bool say_met(int launched_by) { return launched_by <= 0 || ::kill(launched_by, kMet) == 0 || errno != ESRCH; }

}  // namespace kb
