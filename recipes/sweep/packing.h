// Finds how many trials fit into the memory, and how many train fastest side by side: a small net does not keep a
// machine busy by itself.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipes/sweep/sweep_store.h"
#include "recipes/trials/study_process.h"
#include "recipes/trials/trial.h"
#include "runtime/folder_lock.h"

namespace kb {

// A folder packing-HOST-N in a store, which this process has for itself. It is empty at first; the destructor empties
// it or, if this process is killed, the next process of this machine that uses it.
class ScratchFolder {
 public:
  // Throws Error if the folder cannot be made.
  explicit ScratchFolder(const std::filesystem::path& store);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  void empty() const;

  std::filesystem::path path_;
  std::unique_ptr<const FolderLock> lock_;
};

// A trial whose speed is measured, side by side with copies of itself.
struct PackingTrial {
  std::vector<std::string> program;  // command that starts a trial (trial_program)
  Trial trial;
  TrialResources resources;  // number of copies at once, threads of each, and shards
};

// Returns the steps per second of resources.jobs copies of the trial, which train side by side for some seconds, summed
// over all; nothing if it was asked to stop. Works in `folder`, which holds no runs of so many copies. Throws Error if
// the trial does not train.
std::optional<double> packed_speed(const PackingTrial& measured, const std::filesystem::path& folder,
                                   const std::function<bool()>& wants_to_stop);

// Returns numbers of trials at once, in ascending order, that may train faster than one trial. A CPU is full with one
// thread on each processor, thus with `most` trials. The load that fills a GPU is not known in advance: 2, 4, 8, ... up
// to `most`.
std::vector<int> packings_to_try(int most, bool on_gpu);

// Returns which number of trials at once trains fastest, among one and `packings`; nothing if `speed` returns nothing.
// A larger number must gain 5 % over the best smaller one, since the measured trial, the first one of a sweep, has the
// smallest minibatch, and others keep more of the machine busy. The search ends at the first number that gains less, or
// whose trials fail, for instance for lack of memory. `say` gets a line for each: "2 side by side train 1.8 x what one
// after another would". Throws Error if a single trial fails.
std::optional<int> best_packing(const std::vector<int>& packings,
                                const std::function<std::optional<double>(int)>& speed,
                                const std::function<void(const std::string&)>& say);

// Memory of each process of a trial, in bytes.
struct TrialMemory {
  int64_t process = 0;   // memory of the machine
  int64_t on_gpu = 0;    // memory of the GPU, without what CUDA and its libraries take; 0 on the CPU
  int64_t gpu_size = 0;  // size of the GPU's memory; 0 on the CPU

  bool operator==(const TrialMemory&) const = default;
};

// Returns what the trial takes with one thread, found by a dry run in the empty `folder`; nothing if it was asked to
// stop. `program`: command that starts a trial. Throws Error if the trial cannot be planned.
std::optional<TrialMemory> trial_memory(const std::vector<std::string>& program, const Trial& trial,
                                        const std::filesystem::path& folder,
                                        const std::function<bool()>& wants_to_stop);

// Returns how many trials of `processes` processes each fit into nine tenths of the machine's `machine_bytes` and of
// the GPU's memory; at least one.
int trials_in_memory(const TrialMemory& trial, int64_t processes, int64_t machine_bytes);

// Program, wishes and callbacks of a process that trains trials of a sweep.
struct SweepMachine {
  std::vector<std::string> program;             // command that starts a trial (trial_program)
  int64_t jobs = 0;                             // number of trials at once; 0: as many as train faster side by side
  std::function<bool()> wants_to_stop;          // returns true once the process is asked to stop
  std::function<void(const std::string&)> say;  // prints a line about what was measured
};

// Returns true if trials of this process run on a GPU and several of them may train at once.
bool may_share_gpu(const Recipe& recipe, const SweepView& view, int64_t jobs);

// Returns how many trials train at once, and the threads of each. The number is `machine.jobs`, or else found from the
// memory and, except on a CPU with --threads, by a measurement. Returns nothing if it was asked to stop. Requires a
// waiting trial. Throws Error if the first one does not train.
std::optional<TrialResources> choose_resources(const Recipe& recipe, const SweepView& view,
                                               const SweepMachine& machine);

}  // namespace kb
