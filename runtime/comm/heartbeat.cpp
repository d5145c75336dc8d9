#include "runtime/comm/heartbeat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/comm/beat_page.h"
#include "runtime/comm/beat_relay.h"

namespace kb {

class Heartbeat::Watch {
 public:
  Watch(Communicator& communicator, HeartbeatOptions options)
      : rank_(communicator.rank()),
        options_(std::move(options)),
        page_(communicator),
        relay_(communicator, page_, options_.patience) {
    own().step = -1;
    at("start", false, false);
    own().process = options_.process > 0 ? options_.process : ::getpid();
    own().presence = Presence::here;
    communicator.barrier();
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }

  ~Watch() {
    own().presence = Presence::absent;
    thread_.request_stop();
    changed_.notify_all();
  }

  const std::string& note() const { return relay_.fault(); }

  void at_step(int64_t step) {
    own().step = step;
    at("", false, true);
  }

  void at(std::string_view place, bool waits, bool steps) {
    Beat& beat = own();
    beat.set_place(place);
    beat.waits = waits;
    beat.steps = steps;
    beat.since = machine_time();
    ++beat.count;
  }

  void waits(bool waits) {
    own().waits = waits;
    own().since = machine_time();
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
      relay_.exchange();
      const std::string fault = find_fault();
      if (fault.empty()) continue;
      const std::string message = hint_.empty() ? fault : fault + "\n  hint:     " + hint_;
      lock.unlock();
      return options_.on_fault ? options_.on_fault(message) : end(message);
    }
  }

  // Of several, one that says more than that another process found it.
  std::string find_fault() const {
    std::string fault;
    for (int rank = 0; rank < page_.size(); ++rank) {
      const Presence presence = page_.presence(rank);
      if (rank == rank_ || presence == Presence::absent) continue;
      const Beat& beat = page_[rank];
      if (presence == Presence::ended)
        fault = page_.name(rank) + " has ended the run";
      else if (presence != Presence::here)
        return fmt::format("{} {} at {}; rank {} stands at {}", page_.name(rank),
                           presence == Presence::died ? "has died" : "is no longer heard of: it stood", beat.text(),
                           rank_, own().text());
      else if (is_behind(beat))
        return fmt::format("rank {} has not reached {} for {:.0f} s; it stands at {}", rank, own().text(),
                           patience_with(beat), beat.text());
    }
    return fault;
  }

  double patience_with(const Beat& beat) const { return beat.steps ? options_.patience : options_.long_patience; }

  // Both have stood still for long, and this process waits for the other, which does not wait itself or came by fewer
  // places.
  bool is_behind(const Beat& beat) const {
    const auto patience = static_cast<int64_t>(patience_with(beat) * 1e9);
    const int64_t time = machine_time();
    const bool still = time - beat.since > patience && time - own().since > patience;
    return still && own().waits && (!beat.waits || beat.count < own().count);
  }

  [[noreturn]] void end(const std::string& message) {
    bool first = true;
    for (int rank = 0; rank < rank_; ++rank) {
      const Presence presence = page_.presence(rank);
      first &= presence != Presence::here && presence != Presence::ended;
    }
    own().presence = Presence::ended;
    relay_.exchange();
    if (first) fmt::print(stderr, "{}\n", message);
    std::fflush(nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(first ? 0 : 500));  // the message before the end
    std::_Exit(1);
  }

  const int rank_;
  const HeartbeatOptions options_;
  const BeatPage page_;
  BeatRelay relay_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string hint_;
  std::jthread thread_;  // last: it stops before anything it uses is destroyed
};

Heartbeat::Heartbeat(Communicator& communicator, HeartbeatOptions options)
    : watch_(std::make_unique<Watch>(communicator, std::move(options))) {}
Heartbeat::~Heartbeat() = default;
const std::string& Heartbeat::note() const { return watch_->note(); }
void Heartbeat::at_step(int64_t step) { watch_->at_step(step); }
void Heartbeat::waits(bool waits) { watch_->waits(waits); }
void Heartbeat::at(std::string_view place, bool waits) { watch_->at(place, waits, true); }
void Heartbeat::at_work(std::string_view place) { watch_->at(place, false, false); }
void Heartbeat::set_hint(std::string hint) { watch_->set_hint(std::move(hint)); }

}  // namespace kb
