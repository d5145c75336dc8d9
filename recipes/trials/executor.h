// Runs trials, several at once, each in a process of its own, whose death ends no other. The trials come from a list,
// or from a source that decides while others run. The run folders tell which trials are done: a study that is started
// again trains only the others, each from its last checkpoint.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "recipes/trials/trial.h"

namespace kb {

struct ExecutorOptions {
  std::filesystem::path store;       // the run folder of a trial is store / name
  std::vector<std::string> command;  // program's path and words that start a trial, followed by the trial's own
  int jobs = 1;                      // number of trials that run at once
  // Values for trials whose words leave the choice to the machine (--threads 0, --shards 0).
  int threads = 0, shards = 0;
};

// How a trial ended. stopped: its source did not want it any more, or the executor was asked to stop.
enum class TrialEnd : uint8_t { trained, diverged, failed, stopped };

struct TrialOutcome {
  TrialEnd end = TrialEnd::failed;
  bool was_done = false;     // true if the trial had ended before this call
  std::string message = {};  // output of a failed trial
};

// Observes an executor. All functions are called by the thread that calls run_trials().
class TrialObserver {
 public:
  virtual ~TrialObserver() = default;

  virtual void ended(const Trial&, const TrialOutcome&) {}
  // Called once for a trial that was taken but cannot start yet, since another process uses its run folder.
  virtual void waits(const Trial&, const std::filesystem::path& /*folder*/) {}
  // Called about twice a second while trials run. `done`: number of trials done, with the shares of those that run: two
  // and a half trials are 2.5.
  virtual void progress(double /*done*/, size_t /*running*/) {}
  // Returns true to ask the running trials to make a checkpoint and end.
  virtual bool wants_to_stop() { return false; }
};

// Gives an executor its trials, which may depend on how earlier ones ended. All functions are called by the thread that
// calls run_trials(), those that ask for something several times a second.
class TrialSource {
 public:
  virtual ~TrialSource() = default;

  // Returns the trials that may start now and were not taken yet, the most urgent first; none while others must end
  // before.
  virtual std::vector<Trial> ready() = 0;
  // Called before a trial starts, which it does once its folder is free. Returns false if another process has it now.
  virtual bool take(const Trial&) { return true; }
  // Returns false to ask a trial that was taken to make a checkpoint and end.
  virtual bool wants(const Trial&) { return true; }
  // Called once for each trial that was taken, when it has ended.
  virtual void ended(const Trial&, const TrialOutcome&) = 0;
  // Returns true if no trial is left except those that run, and none will come.
  virtual bool is_done() = 0;
  virtual double done() = 0;  // number of trials done, for TrialObserver::progress()
};

// Returns an outcome for each trial, in their order; nothing if the observer asked to stop. Calls the observer's
// ended() once for every trial that ended, first for those that were done before. A trial that was killed is started
// once more, from its checkpoint; a trial that fails otherwise has failed, and the others go on. Throws Error if
// another process executes trials in the same store, or if a trial cannot be started at all; the running trials then
// make their checkpoints first.
std::optional<std::vector<TrialOutcome>> run_trials(const std::vector<Trial>& trials, const ExecutorOptions& options,
                                                    TrialObserver& observer);

// Runs the trials of a source in the same way, but other processes may execute trials in the same store. Returns false
// if the observer asked to stop.
bool run_trials(TrialSource& source, const ExecutorOptions& options, TrialObserver& observer);

// Returns a line for the console which tells that a trial waits for its run folder.
std::string waiting_text(const Trial& trial, const std::filesystem::path& folder);

// Returns what the console says of a trial that ended: a line "TRIAL: ENDING  (STANDING)" and, indented below it, what
// a failed trial said.
std::string ended_text(const std::string& trial, const std::string& ending, const std::string& standing,
                       const TrialOutcome& outcome);

// Returns how many trials, of `processes` processes each, run at once: `asked` if it is above 0, else one on a GPU and
// as many on a CPU as leave each process a processor. The number is at least 1, and never above that of the trials.
int choose_jobs(int64_t asked, size_t trials, int processes, bool on_gpu);

}  // namespace kb
