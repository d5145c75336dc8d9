#include "runtime/comm/heartbeat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "runtime/comm/beat_page.h"
#include "runtime/comm/beat_relay.h"
#include "runtime/comm/stop_vote.h"
#include "runtime/standard_streams.h"
#include "runtime/threads.h"

namespace kb {
namespace {

// Every process looks at all processes of its machine. If there are more than this number, it looks less often:
// otherwise a machine with hundreds of them would do little else.
constexpr int kLookedAt = 8;

}  // namespace

class Heartbeat::Watch {
 public:
  Watch(Communicator& communicator, HeartbeatOptions options)
      : rank_(communicator.rank()),
        options_(std::move(options)),
        interval_(options_.interval * std::max(1, communicator.placement().local_size / kLookedAt)),
        page_(communicator),
        relay_(communicator, page_, options_.silence),
        votes_(page_, rank_) {
    own().step = -1;
    own().looked = machine_time();
    at("start", false, false);
    own().process = options_.process > 0 ? options_.process : ::getpid();
    own().presence = Presence::here;
    communicator.barrier();
    thread_ = start_thread<std::jthread>("the heartbeat, which watches the other processes of the run",
                                         [this](const std::stop_token& stop) { watch(stop); });
  }

  ~Watch() {
    own().since = machine_time();
    own().presence = std::uncaught_exceptions() > 0 ? Presence::failed : Presence::absent;
    thread_.request_stop();
    changed_.notify_all();
  }

  const std::string& note() const { return relay_.fault(); }
  StopVote& votes() { return votes_; }

  void at_step(int64_t step) {
    own().step = step;
    at("", false, true);
  }

  void at(std::string_view place, bool waits, bool steps) {
    end_part();
    Beat& beat = own();
    beat.set_place(place);
    beat.waits = waits;
    beat.steps = steps;
    ++beat.count;
  }

  void waits(bool waits) {
    end_part();
    own().waits = waits;
  }

  void set_hint(std::string hint) {
    const std::scoped_lock lock(mutex_);
    hint_ = std::move(hint);
  }

 private:
  Beat& own() const { return page_[rank_]; }

  // Ends the part of the run that this process was in, and records its time if it is the longest one.
  void end_part() {
    Beat& beat = own();
    const int64_t now = machine_time();
    if (beat.steps && !beat.waits) longest_part_ = std::max<int64_t>(longest_part_, now - beat.since);
    beat.since = now;
  }

  void watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, stop, interval_, [&] { return stop.stop_requested(); })) {
      own().looked = machine_time();
      if (note().empty()) votes_.look(options_.asked ? options_.asked() : 0);
      relay_.exchange();
      notice_pause();
      const std::string fault = find_fault();
      if (fault.empty()) continue;
      const std::string message = hint_.empty() ? fault : fault + "\n  hint:     " + hint_;
      lock.unlock();
      return options_.on_fault ? options_.on_fault(message) : end(message);
    }
  }

  // The processes of a run may be suspended together and do not wake together, so the time before a pause does not
  // count.
  void notice_pause() {
    const int64_t now = machine_time();
    if (static_cast<double>(now - looked_) > 1e9 * options_.patience / 3) awake_ = now;
    looked_ = now;
  }

  // Returns the text of a fault; "" when there is none. If there are several, "has ended the run" gives way to one that
  // says more.
  std::string find_fault() const {
    std::string fault;
    bool all_wait = is_still(own(), options_.long_patience) && own().waits, alone = true;
    for (int rank = 0; rank < page_.size(); ++rank) {
      const Presence presence = page_.presence(rank);
      if (rank == rank_ || presence == Presence::absent) continue;
      const Beat& beat = page_[rank];
      if (presence == Presence::ended)
        fault = page_.name(rank) + " has ended the run";
      else if (presence == Presence::died || presence == Presence::lost)
        return departure(rank, presence == Presence::died ? "has died" : "is no longer heard of: it stood");
      else if (presence == Presence::failed && is_still(beat, options_.grace))
        return departure(rank, "has ended with an error");
      else if (is_stopped(rank))
        return departure(
            rank, fmt::format("has been stopped: nothing of it has run for {:.0f} s; it stands", options_.silence));
      else if (is_behind(beat))
        return fmt::format("rank {} has not reached {} for {:.0f} s; it stands at {}", rank, own().text(),
                           patience_with(beat), beat.text());
      all_wait &= is_still(beat, options_.long_patience) && beat.waits;
      alone = false;
    }
    if (!fault.empty() || alone || !all_wait) return fault;
    return fmt::format(
        "every process has been waiting for others for {:.0f} s: nothing comes through; rank {} stands at {}",
        options_.long_patience, rank_, own().text());
  }

  std::string departure(int rank, const std::string& what) const {
    return fmt::format("{} {} at {}; rank {} stands at {}", page_.name(rank), what, page_[rank].text(), rank_,
                       own().text());
  }

  // Returns the seconds to wait for another process. The parts of a step take about as long everywhere: one that took
  // this process long may take another longer.
  double patience_with(const Beat& beat) const {
    if (!beat.steps) return options_.long_patience;
    return std::max(options_.patience, 2e-9 * static_cast<double>(longest_part_));
  }

  bool is_still(const Beat& beat, double seconds) const {
    return static_cast<double>(machine_time() - std::max<int64_t>(beat.since, awake_)) > 1e9 * seconds;
  }

  // Returns whether nothing of a process runs. A process that waits also looks around, so one that does not look is
  // stopped. Processes on other machines are judged there.
  bool is_stopped(int rank) const {
    const int64_t silent = machine_time() - std::max<int64_t>(page_[rank].looked, awake_);
    return page_.is_local(rank) && static_cast<double>(silent) > 1e9 * options_.silence;
  }

  // Returns whether this process waits for the other one: both have stood still for long, this one waits, and the other
  // does not wait or has passed fewer places.
  bool is_behind(const Beat& beat) const {
    const double patience = patience_with(beat);
    return is_still(beat, patience) && is_still(own(), patience) && own().waits &&
           (!beat.waits || beat.count < own().count);
  }

  // Returns whether another process has found a fault and reports it. If two find one at the same time, the lower rank
  // reports it.
  bool is_told(int ranks) const {
    for (int rank = 0; rank < ranks; ++rank)
      if (rank != rank_ && page_[rank].presence == Presence::ended) return true;
    return false;
  }

  [[noreturn]] void end(const std::string& message) {
    bool told = is_told(page_.size());
    own().presence = Presence::ended;
    relay_.exchange();
    told = told || is_told(rank_);
    if (!told) print_error(message);
    std::fflush(nullptr);
    // A launcher may lose unread output of a process that ends, so this waits. The process that reports the fault ends
    // first.
    std::this_thread::sleep_for(std::chrono::milliseconds(told ? 700 : 200));
    std::_Exit(1);
  }

  const int rank_;
  const HeartbeatOptions options_;
  const std::chrono::duration<double> interval_;
  const BeatPage page_;
  BeatRelay relay_;
  StopVote votes_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string hint_;
  std::atomic<int64_t> longest_part_{0};               // nanoseconds, of parts inside steps
  int64_t looked_ = machine_time(), awake_ = looked_;  // time of the last look; time since which there was no pause
  std::jthread thread_;                                // destroyed first, since the thread uses the members above
};

Heartbeat::Heartbeat(Communicator& communicator, HeartbeatOptions options)
    : watch_(std::make_unique<Watch>(communicator, std::move(options))) {}
Heartbeat::~Heartbeat() = default;
const std::string& Heartbeat::note() const { return watch_->note(); }
void Heartbeat::at_step(int64_t step) { watch_->at_step(step); }
void Heartbeat::waits(bool waits) { watch_->waits(waits); }
void Heartbeat::at(std::string_view place, bool waits) { watch_->at(place, waits, true); }
void Heartbeat::at_work(std::string_view place) { watch_->at(place, false, false); }
bool Heartbeat::begin() { return watch_->votes().begin(); }
bool Heartbeat::is_over() const { return watch_->votes().is_over(); }
int Heartbeat::stop_reason() const { return watch_->votes().reason(); }
void Heartbeat::set_hint(std::string hint) { watch_->set_hint(std::move(hint)); }

}  // namespace kb
