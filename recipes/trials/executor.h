// Runs trials, each in a process of its own that may die, several at once: those of a list, or of a source that decides
// as it goes. The run folders are the truth: a study that is started again trains what is not done yet, from the last
// checkpoint, and nothing twice.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "recipes/trials/trial.h"

namespace kb {

struct ExecutorOptions {
  std::filesystem::path store;       // a trial's run folder is store / name
  std::vector<std::string> command;  // starts a trial: a program's path and words, behind which the trial's stand
  int jobs = 1;                      // trials at once
  // Given to trials whose words leave them to the machine (--threads 0, --shards 0).
  int threads = 0, shards = 0;
};

// stopped: its source wanted no more of it, or the executor was asked to stop.
enum class TrialEnd : uint8_t { trained, diverged, failed, stopped };

struct TrialOutcome {
  TrialEnd end = TrialEnd::failed;
  bool was_done = false;     // before this call
  std::string message = {};  // of a failed trial: what it printed
};

// All functions are called by the thread that calls run_trials().
class TrialObserver {
 public:
  virtual ~TrialObserver() = default;

  virtual void ended(const Trial&, const TrialOutcome&) {}
  // Once for a trial that was taken and cannot start yet, as another process has its run folder.
  virtual void waits(const Trial&, const std::filesystem::path& /*folder*/) {}
  // Some times a second, while trials run. `done`: trials done, as a sum of shares: 2.5 are two and a half.
  virtual void progress(double /*done*/, size_t /*running*/) {}
  // True asks the trials that run to make a checkpoint and end.
  virtual bool wants_to_stop() { return false; }
};

// Trials that follow from what others gave. All functions are called by the thread that calls run_trials(), some times
// a second.
class TrialSource {
 public:
  virtual ~TrialSource() = default;

  // Returns trials that may start now and were not taken, the most urgent first; none where others must end before.
  virtual std::vector<Trial> ready() = 0;
  // Called before a trial starts, which it does once its folder is free. False: another process has it now.
  virtual bool take(const Trial&) { return true; }
  // False asks a trial that was taken to make a checkpoint and end.
  virtual bool wants(const Trial&) { return true; }
  // Once for each trial that was taken.
  virtual void ended(const Trial&, const TrialOutcome&) = 0;
  // No trial is left, nor will be, but those that run.
  virtual bool is_done() = 0;
  virtual double done() = 0;  // as TrialObserver::progress has it
};

// Returns an outcome for each trial, in their order; nothing where the observer asked to stop. Calls ended() for every
// trial once, those that were done before first. A trial that was killed is started once more, from its checkpoint; a
// trial that fails otherwise has failed, and the others go on. Throws Error where another process executes trials in
// the same store, and where a trial cannot be started at all; trials that run then make their checkpoints before.
std::optional<std::vector<TrialOutcome>> run_trials(const std::vector<Trial>& trials, const ExecutorOptions& options,
                                                    TrialObserver& observer);

// Likewise, for the trials of a source, whatever other processes execute in the store. Returns false where the observer
// asked to stop.
bool run_trials(TrialSource& source, const ExecutorOptions& options, TrialObserver& observer);

// Tells that a trial waits for its run folder.
std::string waiting_text(const Trial& trial, const std::filesystem::path& folder);

// Returns how many trials of `processes` processes each run at once where `asked` is 0: one on a GPU, else as many as
// leave each process a processor; never more than there are trials.
int choose_jobs(int64_t asked, size_t trials, int processes, bool on_gpu);

}  // namespace kb
