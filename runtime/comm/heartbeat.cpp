#include "runtime/comm/heartbeat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <random>
#include <thread>

#include "graph/error.h"

namespace kb {
namespace {

constexpr size_t kPlaceBytes = 120;
constexpr int32_t kLeft = 0;  // in place of a process number: not here yet, or gone for good

// One process. Written by it alone; a torn text would only spoil a message.
struct Beat {
  std::atomic<int32_t> process{kLeft};
  std::atomic<bool> waits{false};
  std::atomic<int64_t> step{-1}, count{0}, since{0};  // since: nanoseconds of the machine's clock
  std::atomic<char> place[kPlaceBytes]{};
};

int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

// A process that its parent has not asked about yet is there for kill(), but dead.
bool is_alive(int32_t process) {
  if (::kill(process, 0) != 0 && errno == ESRCH) return false;
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return ::kill(process, 0) == 0;
  return text[name_end + 2] != 'Z' && text[name_end + 2] != 'X';
}

std::string text_of(const Beat& beat) {
  std::string place;
  for (const std::atomic<char>& letter : beat.place) {
    if (letter == '\0') break;
    place.push_back(letter);
  }
  return beat.step < 0 ? place : fmt::format("step {} {}", beat.step.load(), place);
}

// A file of shared memory, without a name from the moment at which all have it open.
class Page {
 public:
  Page(Communicator& communicator) : bytes_(sizeof(Beat) * static_cast<size_t>(communicator.size())) {
    const std::string own = fmt::format("/kilobatch-{}-{:08x}", ::getuid(), std::random_device()());
    const std::string name = communicator.all_gather(own)[0];
    const int file = ::shm_open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes_)) != 0) fail(name);
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (memory_ == MAP_FAILED) fail(name);
    communicator.barrier();
    if (communicator.placement().local_rank == 0) ::shm_unlink(name.c_str());
  }
  ~Page() { ::munmap(memory_, bytes_); }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  // Zeroed memory is a Beat of a process that is not here.
  Beat& operator[](int rank) const { return static_cast<Beat*>(memory_)[rank]; }

 private:
  [[noreturn]] static void fail(const std::string& name) {
    throw Error(fmt::format("cannot make shared memory {}: {}", name, std::strerror(errno)));
  }

  size_t bytes_;
  void* memory_ = nullptr;
};

}  // namespace

class Heartbeat::Watch {
 public:
  Watch(Communicator& communicator, HeartbeatOptions options)
      : rank_(communicator.rank()), size_(communicator.size()), options_(std::move(options)), page_(communicator) {
    own().step = -1;
    at("start", false);
    own().process = ::getpid();
    communicator.barrier();
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }

  ~Watch() {
    own().process = kLeft;
    thread_.request_stop();
    changed_.notify_all();
  }

  void at_step(int64_t step) {
    own().step = step;
    at("", false);
  }

  void at(std::string_view place, bool waits) {
    Beat& beat = own();
    const size_t length = std::min(place.size(), kPlaceBytes - 1);
    for (size_t i = 0; i < length; ++i) beat.place[i].store(place[i], std::memory_order_relaxed);
    beat.place[length] = '\0';
    beat.waits = waits;
    beat.since = now();
    ++beat.count;
  }

  void waits(bool waits) {
    own().waits = waits;
    own().since = now();
  }

  void set_hint(std::string hint) {
    const std::scoped_lock lock(mutex_);
    hint_ = std::move(hint);
  }

 private:
  Beat& own() const { return page_[rank_]; }

  void watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const auto interval = std::chrono::duration<double>(options_.interval);
    while (!changed_.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) {
      const std::string fault = find_fault();
      if (fault.empty()) continue;
      const std::string message = hint_.empty() ? fault : fault + "\n  hint:     " + hint_;
      lock.unlock();
      return options_.on_fault ? options_.on_fault(message) : end(message);
    }
  }

  std::string find_fault() const {
    for (int rank = 0; rank < size_; ++rank) {
      const Beat& beat = page_[rank];
      const int32_t process = beat.process;
      if (rank == rank_ || process == kLeft) continue;
      if (!is_alive(process))
        return fmt::format("rank {} (process {}) has died at {}; rank {} stands at {}", rank, process, text_of(beat),
                           rank_, text_of(own()));
      if (is_behind(beat))
        return fmt::format("rank {} has not reached {} for {:.0f} s; it stands at {}", rank, text_of(own()),
                           options_.patience, text_of(beat));
    }
    return "";
  }

  // Both have stood still for long, and this process waits for the other, which does not wait itself or came by fewer
  // places.
  bool is_behind(const Beat& beat) const {
    const auto patience = static_cast<int64_t>(options_.patience * 1e9);
    const int64_t time = now();
    const bool still = time - beat.since > patience && time - own().since > patience;
    return still && own().waits && (!beat.waits || beat.count < own().count);
  }

  [[noreturn]] void end(const std::string& message) const {
    bool first = true;
    for (int rank = 0; rank < rank_; ++rank) {
      const int32_t process = page_[rank].process;
      first &= process == kLeft || !is_alive(process);
    }
    if (first) fmt::print(stderr, "{}\n", message);
    std::fflush(nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(first ? 0 : 500));  // the message before the end
    std::_Exit(1);
  }

  const int rank_, size_;
  const HeartbeatOptions options_;
  const Page page_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string hint_;
  std::jthread thread_;  // last: it stops before anything it uses is destroyed
};

Heartbeat::Heartbeat(Communicator& communicator, HeartbeatOptions options)
    : watch_(std::make_unique<Watch>(communicator, std::move(options))) {}
Heartbeat::~Heartbeat() = default;
void Heartbeat::at_step(int64_t step) { watch_->at_step(step); }
void Heartbeat::at(std::string_view place, bool waits) { watch_->at(place, waits); }
void Heartbeat::waits(bool waits) { watch_->waits(waits); }
void Heartbeat::set_hint(std::string hint) { watch_->set_hint(std::move(hint)); }

}  // namespace kb
