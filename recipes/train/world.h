// The processes that share a run, and this process's place among them.
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
#include "runtime/comm/measured.h"
#include "runtime/usable_processors.h"

namespace kb {

// The processors that a process may use: the machine's name, the processors' numbers there, and the quotas of the
// process's control groups.
struct Processors {
  std::string machine;
  std::vector<int> numbers;
  std::vector<CpuQuota> quotas = {};

  std::string text() const;  // "MACHINE 0 1 5 | 4711:1.5", with GROUP:PROCESSORS for each quota
  static Processors parse(const std::string& text);
};

// Returns the processors to which a launcher has bound this process, or else all of the machine, with this process's
// quotas.
Processors own_processors();

// Returns how many threads `rank` may keep busy, at least 1, if the processes that share a processor have equal parts
// of it, and the processes that share a quota have equal parts of the quota.
int share_of_processors(const std::vector<Processors>& ranks, size_t rank);

// Collective call. Returns this process's share, as the function above counts it.
int share_of_processors(Communicator& communicator);

class World {
 public:
  // `asked` returns the number of the signal that asked this process to stop, or 0; the heartbeat's thread may call it.
  // Collective call.
  explicit World(std::unique_ptr<Communicator> communicator, std::function<int()> asked = {});
  // Waits for a sum that begin() started and that other processes may still need, unless an exception is passing.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Communicator& communicator() { return *communicator_; }
  double waited_s() const { return communicator_->waited_s(); }  // seconds that this process waited for reductions
  int64_t rank() const { return communicator_->rank(); }
  int64_t size() const { return communicator_->size(); }
  Heartbeat* heartbeat() { return heartbeat_.get(); }  // null if there is one process
  int processors() const { return processors_; }       // this process's share of the machine's processors
  bool leads() const { return leads_; }                // true for the process that writes files and the console
  // Returns a line for a person if processes on other machines cannot be watched; "" if all processes are watched.
  std::string note() const;

  using Facts = std::vector<std::pair<std::string, std::string>>;
  // Collective call. Takes names and texts of facts. Throws Error if a text is not the same in all processes; the
  // message names the first rank that differs, and shows the difference.
  void check_alike(const Facts& facts);
  // Collective call. Returns the text of the leading process.
  std::string broadcast(const std::string& text);

  // Makes this process a world of its own, until rejoin(): nothing that processes do together waits for another one.
  // They still watch each other. Returns what still connects them.
  Communicator& part();
  void rejoin();

  // Tell the other processes, which watch this one, where it is.
  void at_step(int64_t step);
  void at_worker(int64_t worker);   // number of a virtual worker of the step
  void at(std::string_view place);  // a place outside of steps

  // Collective call before the next thing that all processes do together. Returns false if any process was asked to
  // stop, so that the thing must not be done. The answer is the same in all processes.
  bool begin();
  // Returns true if it is already certain that begin() will return false, so that work can be abandoned.
  bool is_over() const;
  // Asks all processes to stop, for a reason that is not 0. Only the first call counts.
  void stop(int reason);
  // Collective call. Returns why a process was asked to stop: a signal's number, or the reason that was given to
  // stop(); 0 if no process was asked.
  int stop_reason();

 private:
  bool any(bool wanted);
  int reason() const;

  const std::function<int()> asked_;
  std::atomic<int> own_reason_ = 0;
  // Number of processes that want to stop, once the all-reduce of `ticket_` is done. It is declared before the
  // communicator, which writes it, in order to outlive it.
  int32_t wanted_ = 0;
  std::unique_ptr<MeasuredCommunicator> communicator_;
  std::unique_ptr<MeasuredCommunicator> parted_;  // the communicator of all processes while this one is parted
  const bool leads_;
  int processors_ = 1;
  std::optional<int64_t> ticket_;  // all-reduce that any() started last
  std::unique_ptr<Heartbeat> heartbeat_;
};

// Timeout of a message between processes, in seconds. It is longer than any work for which other processes wait; the
// heartbeat finds a process that makes no progress earlier.
inline constexpr double kMessageSeconds = 900;

// Returns the number of threads of this process: `asked` if that is above 0, else its share of the processors if
// several processes share the training, else 0, which stands for one per core.
int64_t threads_of(int64_t asked, const World& world);
// Returns a line for a person if a process has more threads than its share of the processors; empty otherwise.
std::string threads_note(int64_t threads, int processors);

}  // namespace kb
