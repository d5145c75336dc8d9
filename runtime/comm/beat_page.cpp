#include "runtime/comm/beat_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>

#include "graph/error.h"
#include "runtime/host_name.h"

namespace kb {
namespace {

// Returns whether a process runs. kill() also finds one that is dead and that its parent has not reaped.
bool is_alive(int32_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return ::kill(process, 0) == 0;
  return text[name_end + 2] != 'Z' && text[name_end + 2] != 'X';
}

[[noreturn]] void fail(const std::string& name, int error) {
  ::shm_unlink(name.c_str());
  throw Error(fmt::format("cannot make shared memory {}: {}", name, std::strerror(error)));
}

}  // namespace

void Beat::set_place(std::string_view text) {
  const size_t length = std::min(text.size(), kPlaceBytes - 1);
  for (size_t i = 0; i < length; ++i) place[i].store(text[i], std::memory_order_relaxed);
  place[length] = '\0';
}

std::string Beat::text() const {
  std::string letters;
  for (const std::atomic<char>& letter : place) {
    if (letter == '\0') break;
    letters.push_back(letter);
  }
  if (step < 0) return letters;
  return fmt::format("step {}{}{}", step.load(), letters.empty() ? "" : " ", letters);
}

int64_t machine_time() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

// The page is a file that has no name any more once all processes have opened it.
BeatPage::BeatPage(Communicator& communicator) : own_leader_(communicator.placement().leader) {
  for (const std::string& leader : communicator.all_gather(std::to_string(own_leader_)))
    leaders_.push_back(std::stoi(leader));
  hosts_ = communicator.all_gather(host_name());
  bytes_ = sizeof(Beat) * leaders_.size();
  const std::string own = fmt::format("/kilobatch-{}-{:08x}", ::getuid(), std::random_device()());
  const std::string name = communicator.all_gather(own)[static_cast<size_t>(own_leader_)];
  const int file = ::shm_open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  // The memory is set aside: without that, writing to it would end the process where /dev/shm is full.
  const int error = file < 0 ? errno : ::posix_fallocate(file, 0, static_cast<off_t>(bytes_));
  if (error != 0) fail(name, error);
  memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory_ == MAP_FAILED) fail(name, errno);
  communicator.barrier();
  if (communicator.rank() == own_leader_) ::shm_unlink(name.c_str());
}

BeatPage::~BeatPage() { ::munmap(memory_, bytes_); }

// Zeroed memory is the Beat of a process that is absent.
Beat& BeatPage::operator[](int rank) const { return static_cast<Beat*>(memory_)[rank]; }

Presence BeatPage::presence(int rank) const {
  const Beat& beat = (*this)[rank];
  const Presence presence = beat.presence;
  if (!is_local(rank) || presence != Presence::here || is_alive(beat.process)) return presence;
  const Presence last = beat.presence;  // it may have left since it was read above
  return last == Presence::here ? Presence::died : last;
}

std::string BeatPage::name(int rank) const {
  const std::string where = is_local(rank) ? "" : " on " + hosts_[static_cast<size_t>(rank)];
  return fmt::format("rank {} (process {}{})", rank, (*this)[rank].process.load(), where);
}

}  // namespace kb
