#include "recipes/trials/executor.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include "recipes/trials/run_reader.h"
#include "runtime/folder_lock.h"
#include "runtime/input_file.h"
#include "runtime/process.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLookEvery{20};  // interval between looks at the processes
constexpr int kLooksPerProgress = 25;                // number of looks between two calls of progress()
constexpr int kMostStarts = 2;                       // greatest number of starts of a trial that is killed

// Returns false while another process trains in the folder: a trial whose executor was killed goes on until its
// checkpoint is written.
bool is_free(const fs::path& folder) { return !is_there(folder) || FolderLock(folder).has_it(); }

std::optional<TrialOutcome> outcome_of_done(const fs::path& folder) {
  const std::optional<RunReport> report = find_run(folder);
  if (!report || !report->is_done()) return std::nullopt;
  return TrialOutcome{report->diverged ? TrialEnd::diverged : TrialEnd::trained};
}

// Replaces the value of a flag if it is 0.
void settle(std::vector<std::string>& words, const std::string& flag, int value) {
  const auto at = std::find(words.begin(), words.end(), flag);
  if (at != words.end() && std::next(at) != words.end() && *std::next(at) == "0" && value > 0)
    *std::next(at) = std::to_string(value);
}

// A source of trials that are all known from the start, and start in their order.
class TrialList : public TrialSource {
 public:
  TrialList(const std::vector<Trial>& trials, fs::path store) : trials_(trials), store_(std::move(store)) {}

  // Finds the trials that were done before, and tells the observer about them.
  void find_done(TrialObserver& observer) {
    for (const Trial& trial : trials_)
      if (std::optional<TrialOutcome> done = outcome_of_done(store_ / trial.name)) {
        done->was_done = true;
        observer.ended(trial, outcomes_[trial.name] = *done);
      } else {
        waiting_.push_back(trial);
      }
  }

  std::vector<TrialOutcome> outcomes() const {
    std::vector<TrialOutcome> outcomes;
    for (const Trial& trial : trials_) outcomes.push_back(outcomes_.at(trial.name));
    return outcomes;
  }

  std::vector<Trial> ready() override { return waiting_; }
  bool take(const Trial& trial) override { return std::erase(waiting_, trial) > 0; }
  void ended(const Trial& trial, const TrialOutcome& outcome) override { outcomes_[trial.name] = outcome; }
  bool is_done() override { return waiting_.empty(); }
  double done() override {
    double share = 0;
    for (const Trial& trial : trials_) share += outcomes_.contains(trial.name) ? 1 : share_of_run(store_ / trial.name);
    return share;
  }

 private:
  const std::vector<Trial>& trials_;
  const fs::path store_;
  std::map<std::string, TrialOutcome> outcomes_;  // outcomes of the trials that have ended, by name
  std::vector<Trial> waiting_;
};

class Executor {
 public:
  Executor(TrialSource& source, const ExecutorOptions& options, TrialObserver& observer)
      : source_(source), options_(options), observer_(observer) {}

  // If an error ends the executor, asks its trials to make their checkpoints, and waits for them.
  ~Executor() {
    for (Taken& taken : taken_)
      if (taken.process && taken.process->runs()) taken.process->signal(SIGTERM);
    for (Taken& taken : taken_)
      if (taken.process) taken.process->wait();
  }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs trials until the source is done. Returns false if the observer asked to stop.
  bool run() {
    bool has_changed = true;
    for (int look = 0;; ++look) {
      is_stopping_ = is_stopping_ || observer_.wants_to_stop();
      const bool is_regular = look % kLooksPerProgress == 0;
      if (has_changed || is_regular || is_stopping_) end_unwanted();
      if ((has_changed || is_regular) && !is_stopping_) {
        take_ready();
        start_taken();
      }
      if (taken_.empty() && (is_stopping_ || source_.is_done())) return !is_stopping_;
      if (is_regular && !is_stopping_) observer_.progress(source_.done(), taken_.size());
      std::this_thread::sleep_for(kLookEvery);
      has_changed = reap();
    }
  }

 private:
  // A trial that this executor has taken. Without a process it waits for its first start or, if it was killed, for
  // another one.
  struct Taken {
    Trial trial;
    std::unique_ptr<Process> process = {};
    int starts = 0;            // number of processes that were started for it
    bool is_unwanted = false;  // true once it has been asked to end
    bool is_told = false;      // true once the observer knows that it waits for its folder
  };

  fs::path folder(const Trial& trial) const { return options_.store / trial.name; }
  bool has_room() const { return std::ssize(taken_) < options_.jobs; }

  std::vector<std::string> command_of(const Trial& trial) const {
    std::vector<std::string> words = trial.words;
    settle(words, "--threads", options_.threads);
    settle(words, "--shards", options_.shards);
    words.insert(words.begin(), options_.command.begin(), options_.command.end());
    words.insert(words.end(), {"--quiet", "--resume", "auto", "--out", folder(trial).string()});
    return words;
  }

  void take_ready() {
    if (!has_room()) return;
    for (const Trial& trial : source_.ready()) {
      if (!has_room()) return;
      if (source_.take(trial)) taken_.push_back({trial});
    }
  }

  // Starts the trials whose folder is free. Only the process that has taken a trial tests the lock of its folder, so
  // that the test never disturbs another process's start.
  void start_taken() {
    for (Taken& taken : taken_) {
      if (taken.process) continue;
      const fs::path own = folder(taken.trial);
      if (is_free(own)) {
        if (!start(taken)) return;
      } else if (!std::exchange(taken.is_told, true)) {
        observer_.waits(taken.trial, own);
      }
    }
  }

  // Returns false if the system makes no more processes until one of these ends.
  bool start(Taken& taken) {
    try {
      taken.process = std::make_unique<Process>(command_of(taken.trial));
      ++taken.starts;
      return true;
    } catch (const NoProcess&) {
      if (std::none_of(taken_.begin(), taken_.end(), [](const Taken& other) { return other.process != nullptr; }))
        throw;
      return false;
    }
  }

  void end_unwanted() {
    for (auto at = taken_.begin(); at != taken_.end();) {
      const bool ends = !at->is_unwanted && (is_stopping_ || !source_.wants(at->trial));
      at->is_unwanted = at->is_unwanted || ends;
      if (ends && at->process) at->process->signal(SIGTERM);
      at = at->is_unwanted && !at->process ? end(at, {TrialEnd::stopped}) : std::next(at);
    }
  }

  // Removes the trials whose process has ended. Returns true if a process ended.
  bool reap() {
    bool has_changed = false;
    for (auto at = taken_.begin(); at != taken_.end();) {
      std::optional<TrialOutcome> outcome;
      if (at->process && !at->process->runs()) {
        has_changed = true;
        const ProcessResult result = at->process->wait();
        at->process.reset();
        outcome = outcome_of(*at, result);
      }
      at = outcome ? end(at, *outcome) : std::next(at);
    }
    return has_changed;
  }

  // Returns how a trial ended: what its folder says or, if that says nothing, its exit code. Returns nothing if the
  // trial is to start once more.
  std::optional<TrialOutcome> outcome_of(const Taken& ended, const ProcessResult& result) const {
    const std::string& name = ended.trial.name;
    if (std::optional<TrialOutcome> done = outcome_of_done(folder(ended.trial))) return done;
    if (ended.is_unwanted) return TrialOutcome{TrialEnd::stopped};
    const bool was_killed = result.status > 128;
    if (was_killed && ended.starts < kMostStarts) return std::nullopt;
    std::string message = result.output;
    if (was_killed)
      message += fmt::format("{}: signal {} ended it {} times\n  hint:     {}", name, result.status - 128, kMostStarts,
                             "signal 9 is often the system's, where memory runs out: fewer --jobs");
    if (message.empty()) message = fmt::format("exit code {}, without a word", result.status);
    return TrialOutcome{TrialEnd::failed, false, std::move(message)};
  }

  // Removes a trial that has ended, tells the source and the observer, and returns the place behind it. The observer is
  // not told about each trial that a stop of the whole executor ends.
  std::vector<Taken>::iterator end(std::vector<Taken>::iterator ended, const TrialOutcome& outcome) {
    const Trial trial = std::move(ended->trial);
    const auto next = taken_.erase(ended);
    source_.ended(trial, outcome);
    if (!is_stopping_ || outcome.end != TrialEnd::stopped) observer_.ended(trial, outcome);
    return next;
  }

  TrialSource& source_;
  const ExecutorOptions& options_;
  TrialObserver& observer_;
  std::vector<Taken> taken_;
  bool is_stopping_ = false;
};

}  // namespace

std::optional<std::vector<TrialOutcome>> run_trials(const std::vector<Trial>& trials, const ExecutorOptions& options,
                                                    TrialObserver& observer) {
  fs::create_directories(options.store);
  const FolderLock lock(options.store);
  if (!lock.has_it()) throw Error(fmt::format("{} is in use: another process runs its trials", options.store.string()));
  TrialList list(trials, options.store);
  list.find_done(observer);
  if (!run_trials(list, options, observer)) return std::nullopt;
  return list.outcomes();
}

bool run_trials(TrialSource& source, const ExecutorOptions& options, TrialObserver& observer) {
  return Executor(source, options, observer).run();
}

std::string waiting_text(const Trial& trial, const fs::path& folder) {
  return fmt::format("waiting for {}: its folder is in use by another process: {}", trial.name, folder.string());
}

std::string ended_text(const std::string& trial, const std::string& ending, const std::string& standing,
                       const TrialOutcome& outcome) {
  std::string text = fmt::format("{}: {}  ({})", trial, ending, standing);
  std::istringstream said(outcome.message);
  for (std::string line; std::getline(said, line);) text += line.empty() ? "\n" : "\n  " + line;
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

int choose_jobs(int64_t asked, size_t trials, int processes, bool on_gpu) {
  const int64_t most = asked > 0 ? asked : on_gpu ? 1 : usable_processors() / std::max(1, processes);
  return static_cast<int>(std::clamp<int64_t>(most, 1, std::max<int64_t>(1, static_cast<int64_t>(trials))));
}

}  // namespace kb
