#include "recipes/sweep/claims.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "graph/error.h"
#include "runtime/file_error.h"
#include "runtime/input_file.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"
#include "runtime/threads.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

constexpr int kRenewalsPerLease = 4;
constexpr size_t kMostHost = 255;  // greatest length of a host's name in bytes

// Returns the modification time since 1970. Times after more than some 270 years are cut to one time, so that nothing
// overflows.
nanoseconds modified_at(const struct stat& status) {
  const auto seconds = std::clamp<int64_t>(status.st_mtim.tv_sec, 0, int64_t{1} << 33);
  return std::chrono::seconds(seconds) + nanoseconds(status.st_mtim.tv_nsec);
}

bool touch(const fs::path& file) { return ::utimensat(AT_FDCWD, file.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0; }

// Opens a file that only this process has. Its name is removed at once, since an open file needs none.
int open_clock(const fs::path& folder) {
  for (int attempt = 0;; ++attempt) {
    const fs::path name = folder / fmt::format("clock.{}.{}", ::getpid(), attempt);
    const int descriptor = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) throw_file_error("write", name, errno);
    ::unlink(name.c_str());
    return descriptor;
  }
}

// Returns the file system's present time, since 1970.
nanoseconds time_of(int clock, const fs::path& folder) {
  struct stat status {};
  if (::futimens(clock, nullptr) != 0 || ::fstat(clock, &status) != 0) throw_file_error("write", folder, errno);
  return modified_at(status);
}

std::string first_line(const fs::path& file) {
  try {
    const std::string text = read_file(file);
    return text.substr(0, text.find('\n'));
  } catch (const Error&) {
    return "";
  }
}

// Returns a name for the system within which a process's number means one process: this start of the machine, and this
// container.
std::string system_name() {
  std::error_code error;
  return first_line("/proc/sys/kernel/random/boot_id") + " " + fs::read_symlink("/proc/self/ns/pid", error).string();
}

// Returns the clock ticks from the start of the machine to that of the process; "" if there is no such process. They
// tell a process from an earlier one with the same number.
std::string process_start(int64_t pid) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = line.rfind(')');  // a program's name may hold any character
  if (name_end == std::string::npos) return "";
  constexpr int kFirst = 3, kStart = 22;  // numbers of fields, from 1: the first after the name, and the start
  size_t at = name_end + 1;
  for (int field = kFirst; field < kStart && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  if (at == std::string::npos) return "";
  return line.substr(at + 1, line.find(' ', at + 1) - at - 1);
}

// Returns true if the process has ended. Another user's process may hide its start: then only its number is checked.
bool has_ended(int64_t pid, const std::string& start) {
  const std::string now = process_start(pid);
  return now.empty() ? ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH : now != start;
}

std::string claim_text(std::chrono::milliseconds lease) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const Json json = {{"host", host.data()},
                     {"pid", ::getpid()},
                     {"process_start", process_start(::getpid())},
                     {"system", system_name()},
                     {"lease_ms", lease.count()}};
  return json.dump() + "\n";
}

// The facts about a claim.
struct ClaimFacts {
  nanoseconds modified{};
  std::string host = {};                 // host of the process that made it; empty: the claim does not tell
  std::chrono::milliseconds lease = {};  // time for which it holds after `modified`
  bool is_dead = false;                  // true if its process ran on this system, and has ended
};

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

// Takes what the text of a claim says. A text that cannot be read is passed over: its process is still writing it or
// was killed meanwhile, or the file is no claim.
void take_words(const std::string& text, ClaimFacts& facts) try {
  const JsonValue claim = parse_json(text, "claim");
  facts.host = claim.get<std::string>("host").substr(0, kMostHost);
  std::replace_if(facts.host.begin(), facts.host.end(), is_control, '?');  // a terminal would act on control characters
  facts.is_dead = claim.get<std::string>("system") == system_name() &&
                  has_ended(claim.get<int64_t>("pid"), claim.get<std::string>("process_start"));
  const std::chrono::milliseconds lease(claim.get<int64_t>("lease_ms"));
  if (lease >= kShortestLease && lease <= kLongestLease) facts.lease = lease;
} catch (const Error&) {
}

std::string words_in(const fs::path& file, int descriptor) try {
  constexpr size_t kMost = 4096;  // bytes
  const InputFile input(file, descriptor);
  return input.read(0, std::min(input.size(), kMost));
} catch (const Error&) {
  return "";
}

// Returns the facts about a claim; nothing if it does not exist. `unknown`: lease of a claim that does not tell its
// own. The file is opened to get its time, since network file systems ask their server at open() but not at stat()
// alone.
std::optional<ClaimFacts> facts_of(const fs::path& file, std::chrono::milliseconds unknown) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
  struct stat status {};
  const bool is_known = (descriptor < 0 ? ::lstat(file.c_str(), &status) : ::fstat(descriptor, &status)) == 0;
  ClaimFacts facts{.modified = modified_at(status), .lease = unknown};
  if (descriptor >= 0) take_words(words_in(file, descriptor), facts);
  return is_known ? std::optional(facts) : std::nullopt;
}

// Returns the time since the start of the machine, including the time that it slept.
nanoseconds uptime() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

}  // namespace

Claim::Claim(fs::path file, fs::path next, std::chrono::milliseconds lease)
    : file_(std::move(file)),
      next_(std::move(next)),
      lease_(lease),
      renewed_(uptime()),
      thread_(start_thread<std::jthread>("the lease of a trial",
                                         [this](const std::stop_token& stop) { renew_until(stop); })) {}

// Gives the trial back: a claim of the year 1970 has run out for every process.
Claim::~Claim() {
  thread_.request_stop();
  thread_.join();
  const std::array<timespec, 2> long_ago{};
  ::utimensat(AT_FDCWD, file_.c_str(), long_ago.data(), AT_SYMLINK_NOFOLLOW);
}

void Claim::renew_until(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, lease_ / kRenewalsPerLease, [&] { return stop.stop_requested(); })) {
    const nanoseconds now = uptime();
    const bool is_late = (now - renewed_) * kRenewalsPerLease > lease_ * (kRenewalsPerLease - 1);
    if (is_late || is_there(next_) || !touch(file_)) is_lost_ = true;
    renewed_ = now;
  }
}

ClaimFolder::ClaimFolder(fs::path folder, std::chrono::milliseconds lease) : folder_(std::move(folder)), lease_(lease) {
  make_folder(folder_);
  clock_ = open_clock(folder_);
}

ClaimFolder::~ClaimFolder() { ::close(clock_); }

fs::path ClaimFolder::file_of(const std::string& name, int generation) const {
  return folder_ / fmt::format("{}.{}", name, generation);
}

// Returns the highest number of the trial's claims; 0 if nobody ever claimed it.
int ClaimFolder::newest(const std::string& name) const {
  int generation = 0;
  while (is_there(file_of(name, generation + 1))) ++generation;
  return generation;
}

bool ClaimFolder::is_held(const fs::path& file) {
  const std::optional<ClaimFacts> facts = facts_of(file, lease_);
  if (!facts || facts->is_dead || time_of(clock_, folder_) - facts->modified > facts->lease) return false;
  const nanoseconds now = uptime();
  Watch& watch = watched_.try_emplace(file, Watch{facts->modified, now}).first->second;
  if (watch.modified != facts->modified) watch = {facts->modified, now};
  return now - watch.since <= facts->lease;
}

std::string ClaimFolder::holder(const std::string& name) const {
  const int last = newest(name);
  const std::optional<ClaimFacts> facts = last > 0 ? facts_of(file_of(name, last), lease_) : std::nullopt;
  return facts ? facts->host : "";
}

std::unique_ptr<Claim> ClaimFolder::take(const std::string& name) {
  const int before = newest(name);
  if (before > 0 && is_held(file_of(name, before))) return nullptr;
  const fs::path own = file_of(name, before + 1);
  const int descriptor = ::open(own.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0 && errno == EEXIST) return nullptr;
  if (descriptor < 0) throw_file_error("write", own, errno);
  const std::string text = claim_text(lease_);
  const bool is_written = ::write(descriptor, text.data(), text.size()) == std::ssize(text);
  const int reason = errno;
  ::close(descriptor);
  if (!is_written) throw_file_error("write", own, reason);
  return std::make_unique<Claim>(own, file_of(name, before + 2), lease_);
}

}  // namespace kb
