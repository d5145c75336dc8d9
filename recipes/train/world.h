// The processes that share a run, and this one's place among them.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/comm/heartbeat.h"

namespace kb {

class World {
 public:
  // `asked` tells why this process is to stop, a signal's number, and 0 where it is not; a thread of the world's own
  // may call it.
  explicit World(std::unique_ptr<Communicator> communicator, std::function<int()> asked = {});
  ~World();  // takes part in what others may still wait for, unless an error ends it
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Communicator& communicator() { return *communicator_; }
  int64_t rank() const { return communicator_->rank(); }
  int64_t size() const { return communicator_->size(); }
  Heartbeat* heartbeat() { return heartbeat_.get(); }  // null if there is one process
  int processors() const { return processors_; }       // this process's share of the machine's, see placement.h
  bool leads() const { return rank() == 0; }           // true for the process that writes files and speaks
  std::string note() const;                            // tells what cannot be watched; "" if all can

  using Facts = std::vector<std::pair<std::string, std::string>>;
  // Throws Error where a fact is not the same everywhere, naming the first rank and what differs.
  void check_alike(const Facts& facts);
  // Collective call. Returns the text of the leading process.
  std::string broadcast(const std::string& text);

  // Tell the other processes, which watch this one, where it stands.
  void at_step(int64_t step);
  void at_worker(int64_t worker);   // number of a virtual worker of the step
  void at(std::string_view place);  // a place outside of steps

  // Asked before the next thing that all processes do together. Returns whether it is done; the answer is the same in
  // all processes, and is false once any of them was asked to stop.
  bool begin();
  // Returns true if begin() is going to return false, so that work for it can be left.
  bool is_over() const;
  // Asks all processes to stop, for a reason other than 0; the first reason stays.
  void stop(int reason);
  // Returns why a process was asked to stop: a signal's number, or a reason of stop(); 0 if none was.
  int stop_reason();

 private:
  bool any(bool wanted);
  int reason() const;

  const std::function<int()> asked_;
  std::atomic<int> own_reason_ = 0;
  int32_t wanted_ = 0;  // number of processes that asked to stop, once the reduction is done; outlives the
                        // communicator, which writes it
  std::unique_ptr<Communicator> communicator_;
  int processors_ = 1;
  std::optional<int64_t> ticket_;
  std::unique_ptr<Heartbeat> heartbeat_;
};

// Seconds that a message between processes may take: longer than any process may be at work that the others wait for;
// the heartbeat finds one that stands still.
inline constexpr double kMessageSeconds = 900;

// Returns the threads of this process: `asked` where that is above 0; else 0, one a core, or where several processes
// share a training its share of the processors.
int64_t threads_of(int64_t asked, const World& world);
// Returns a line if so many are more than its share; empty otherwise.
std::string threads_note(int64_t threads, int processors);

}  // namespace kb
