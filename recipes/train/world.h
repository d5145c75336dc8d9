// The processes that share a run, and this one's place among them.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recipes/config/flags.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/heartbeat.h"

namespace kb {

class World {
 public:
  explicit World(std::unique_ptr<Communicator> communicator);
  ~World();  // takes part in what others may still wait for, unless an error ends it
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Communicator& communicator() { return *communicator_; }
  int64_t rank() const { return communicator_->rank(); }
  int64_t size() const { return communicator_->size(); }
  Heartbeat* heartbeat() { return heartbeat_.get(); }  // none where there is one process
  int processors() const { return processors_; }       // its share of those of the machine, see placement.h
  bool leads() const { return rank() == 0; }           // the one that writes files and speaks
  std::string note() const;                            // what cannot be watched; "" where all is

  using Facts = std::vector<std::pair<std::string, std::string>>;
  // Throws Error where a fact is not the same everywhere, naming the first rank and what differs.
  void check_alike(const Facts& facts);
  // Collective call. Returns the text of the leading process.
  std::string leaders(const std::string& text);

  // Tell the other processes, which watch this one, where it stands.
  void at_step(int64_t step);
  void at_worker(int64_t worker);   // virtual, of the step
  void at(std::string_view place);  // outside of steps

  // Before the next thing that all processes do together, from remember_signals() on: whether it is done. The answer is
  // the same everywhere: no, once any process was asked to stop (recipes/train/interrupt.h).
  bool begin();
  // Whether begin() is going to say no, so that what is done for it can be left.
  bool is_over() const;
  // The signal that asked any of them; 0: none did.
  int stop_signal();
  void remember_signals();

 private:
  bool any(bool wanted);

  int32_t wanted_ = 0;  // how many did, once the reduction is done; outlives the communicator, which writes it
  std::unique_ptr<Communicator> communicator_;
  int processors_ = 1;
  std::optional<int64_t> ticket_;
  std::unique_ptr<Heartbeat> heartbeat_;
};

// Runs `command` as --processes processes to their end and gives their exit code; nothing where that is 1 or a launcher
// has started this process. `resumes`: a run whose own flags are not known yet. Throws UsageError where the flags do
// not go together, and Error where something is missing.
std::optional<int> launch_processes(const RunConfig& config, bool resumes, const std::vector<std::string>& command);
// The processes that a launcher started, in the flags from then on. Throws UsageError where both differ, and Error
// where something is missing.
std::unique_ptr<World> join_world(RunConfig& config);

// Threads of this process: --threads, or where several share a run, its share of the processors.
int64_t threads_of(const RunConfig& config, const World& world);
// A line where so many are more than its share; empty otherwise.
std::string threads_note(int64_t threads, int processors);

}  // namespace kb
