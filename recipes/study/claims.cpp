#include "recipes/study/claims.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

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
constexpr const char* kClockFile = "clock";

nanoseconds modified_at(const struct stat& status) {
  return std::chrono::seconds(status.st_mtim.tv_sec) + nanoseconds(status.st_mtim.tv_nsec);
}

// A file is opened for its time: network file systems ask their server then, and not at a stat() alone.
std::optional<nanoseconds> time_of(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  struct stat status {};
  const bool is_known = ::fstat(descriptor, &status) == 0;
  ::close(descriptor);
  return is_known ? std::optional(modified_at(status)) : std::nullopt;
}

bool touch(const fs::path& file) { return ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0) == 0; }

// The file system's present time.
nanoseconds time_in(const fs::path& folder) {
  const fs::path clock = folder / kClockFile;
  const int descriptor = ::open(clock.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw_file_error("write", clock, errno);
  struct stat status {};
  const bool is_known = ::futimens(descriptor, nullptr) == 0 && ::fstat(descriptor, &status) == 0;
  const int reason = errno;
  ::close(descriptor);
  if (!is_known) throw_file_error("write", clock, reason);
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

// Names the system in which a process's number means what it means here: this start of the machine, this container.
std::string system_name() {
  std::error_code error;
  return first_line("/proc/sys/kernel/random/boot_id") + " " + fs::read_symlink("/proc/self/ns/pid", error).string();
}

// Clock ticks from the start of the machine to that of the process; empty where there is no such process. A number
// is given to another process once its own has ended.
std::string process_start(int64_t pid) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = line.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return "";
  constexpr int kFirst = 3, kStart = 22;  // numbers of fields, from 1: behind the name, and the one that is asked for
  size_t at = name_end + 1;
  for (int field = kFirst; field < kStart && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  if (at == std::string::npos) return "";
  return line.substr(at + 1, line.find(' ', at + 1) - at - 1);
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

// A claim's words about the process that made it.
struct ClaimFacts {
  std::chrono::milliseconds lease;  // how long it holds unless that process renews it
  bool is_dead = false;             // the process ran on this system, and has ended
};

// A claim that cannot be read, as its process is writing it or was killed there, has the lease `unknown`.
ClaimFacts read_claim(const fs::path& file, std::chrono::milliseconds unknown) {
  try {
    const JsonValue claim = parse_json(read_file(file), file.string());
    return {std::chrono::milliseconds(claim.get<int64_t>("lease_ms")),
            claim.get<std::string>("system") == system_name() &&
                process_start(claim.get<int64_t>("pid")) != claim.get<std::string>("process_start")};
  } catch (const Error&) {
    return {unknown};
  }
}

// Seconds since the start of the machine, those that it slept included.
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

// A claim of the year 1970 has run out for all.
Claim::~Claim() {
  thread_.request_stop();
  thread_.join();
  const std::array<timespec, 2> long_ago{};
  ::utimensat(AT_FDCWD, file_.c_str(), long_ago.data(), 0);
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
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw Error(fmt::format("cannot make the folder {}: {}", folder_.string(), error.message()));
}

fs::path ClaimFolder::file_of(const std::string& name, int generation) const {
  return folder_ / fmt::format("{}.{}", name, generation);
}

// 0: nobody ever claimed it.
int ClaimFolder::newest(const std::string& name) const {
  int generation = 0;
  while (is_there(file_of(name, generation + 1))) ++generation;
  return generation;
}

bool ClaimFolder::is_held(const fs::path& file) const {
  const std::optional<nanoseconds> renewed = time_of(file);
  const ClaimFacts facts = read_claim(file, lease_);
  using Age = std::chrono::duration<double>;  // of a claim of whatever lease, without overflow
  return renewed && Age(time_in(folder_) - *renewed) <= facts.lease && !facts.is_dead;
}

std::unique_ptr<Claim> ClaimFolder::take(const std::string& name) const {
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
