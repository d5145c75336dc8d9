// The processes that share a run, and this one's place among them.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recipes/flags.h"
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
  // What the leading process says.
  std::string leaders(const std::string& text);

  // Where this process stands, for the others' watch over it.
  void at_step(int64_t step);
  void at_worker(int64_t worker);   // virtual, of the step
  void at(std::string_view place);  // outside of steps

  // Whether any process wanted to when it called this the time before: the same answer everywhere, without waiting for
  // the slowest at this call.
  bool any(bool wanted);

 private:
  int32_t wanted_ = 0;  // how many did, once the reduction is done; outlives the communicator, which writes it
  std::unique_ptr<Communicator> communicator_;
  int processors_ = 1;
  std::optional<int64_t> ticket_;
  std::unique_ptr<Heartbeat> heartbeat_;
};

// The processes that a launcher started, in the flags from then on. Where --processes asks for more than this one, the
// program is started anew through mpirun and this does not return. Throws UsageError where both differ, and Error
// where something is missing.
std::unique_ptr<World> join_world(Flags& flags, const std::vector<std::string>& command);

// Threads of this process: --threads, or where several share a run, its share of the processors.
int64_t threads_of(const Flags& flags, const World& world);
// A line where so many are more than its share; empty otherwise.
std::string threads_note(int64_t threads, int processors);

}  // namespace kb
