#include "recipes/study/executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include "recipes/study/run_reader.h"
#include "runtime/file_error.h"
#include "runtime/process.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLookEvery{20};  // at the processes
constexpr int kLooksPerProgress = 25;
constexpr int kMostStarts = 2;  // of a trial that is killed

// An exclusive lock on a folder, as long as it lives; the system gives it back where the process is killed.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw_file_error("open", folder, errno);
    has_it_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  }
  ~FolderLock() { ::close(descriptor_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  bool has_it() const { return has_it_; }

 private:
  int descriptor_;
  bool has_it_ = false;
};

// A trial of an executor that was killed goes on for the moment that its checkpoint takes.
bool is_free(const fs::path& folder) { return !fs::exists(folder) || FolderLock(folder).has_it(); }

std::optional<RunReport> report_of(const fs::path& folder) {
  try {
    return read_run(folder);
  } catch (const Error&) {
    return std::nullopt;  // nothing was trained there, or not far enough for a manifest
  }
}

std::optional<TrialOutcome> outcome_of_done(const fs::path& folder) {
  const std::optional<RunReport> report = report_of(folder);
  if (!report || !report->is_done()) return std::nullopt;
  return TrialOutcome{report->diverged ? TrialEnd::diverged : TrialEnd::trained, false, ""};
}

// Sets a flag whose value is 0.
void settle(std::vector<std::string>& words, const std::string& flag, int value) {
  const auto at = std::find(words.begin(), words.end(), flag);
  if (at != words.end() && std::next(at) != words.end() && *std::next(at) == "0" && value > 0)
    *std::next(at) = std::to_string(value);
}

// Trials that are known from the start, one behind the other.
class TrialList : public TrialSource {
 public:
  TrialList(const std::vector<Trial>& trials, fs::path store)
      : trials_(trials), store_(std::move(store)), outcomes_(trials.size()) {}

  // Tells of trials that were done before.
  void find_done(TrialObserver& observer) {
    for (size_t trial = 0; trial < trials_.size(); ++trial) {
      outcomes_[trial] = outcome_of_done(store_ / trials_[trial].name);
      if (!outcomes_[trial]) {
        waiting_.push_back(trial);
        continue;
      }
      outcomes_[trial]->was_done = true;
      observer.ended(trials_[trial], *outcomes_[trial]);
    }
  }

  std::vector<TrialOutcome> outcomes() && {
    std::vector<TrialOutcome> outcomes;
    for (std::optional<TrialOutcome>& outcome : outcomes_) outcomes.push_back(std::move(outcome.value()));
    return outcomes;
  }

  std::vector<Trial> ready() override {
    std::vector<Trial> ready;
    for (const size_t trial : waiting_) ready.push_back(trials_[trial]);
    return ready;
  }
  bool take(const Trial& trial) override { return std::erase(waiting_, number_of(trial)) > 0; }
  void ended(const Trial& trial, const TrialOutcome& outcome) override { outcomes_[number_of(trial)] = outcome; }
  bool is_done() override { return waiting_.empty(); }
  double done() override {
    double share = 0;
    for (size_t trial = 0; trial < trials_.size(); ++trial)
      share += outcomes_[trial] ? 1 : share_of_run(store_ / trials_[trial].name);
    return share;
  }

 private:
  size_t number_of(const Trial& trial) const {
    const auto at = std::find_if(trials_.begin(), trials_.end(), [&](const Trial& t) { return t.name == trial.name; });
    return static_cast<size_t>(at - trials_.begin());
  }

  const std::vector<Trial>& trials_;
  const fs::path store_;
  std::vector<std::optional<TrialOutcome>> outcomes_;
  std::vector<size_t> waiting_;
};

class Executor {
 public:
  Executor(TrialSource& source, const ExecutorOptions& options, TrialObserver& observer)
      : source_(source), options_(options), observer_(observer) {}

  // False where it was asked to stop.
  bool run() {
    bool has_changed = true;
    for (int look = 0;; ++look) {
      if (!is_stopping_ && observer_.wants_to_stop()) stop();
      const bool is_regular = look % kLooksPerProgress == 0;
      if ((has_changed || is_regular) && !is_stopping_) {
        end_unwanted();
        start_ready();
      }
      if (running_.empty() && (is_stopping_ || (killed_.empty() && source_.is_done()))) return !is_stopping_;
      if (is_regular && !is_stopping_) observer_.progress(source_.done(), running_.size());
      std::this_thread::sleep_for(kLookEvery);
      has_changed = reap();
    }
  }

 private:
  struct Running {
    Trial trial;
    std::unique_ptr<Process> process;
    bool is_unwanted = false;
  };

  fs::path folder(const Trial& trial) const { return options_.store / trial.name; }
  bool has_room() const { return std::ssize(running_) < options_.jobs; }

  std::vector<std::string> command_of(const Trial& trial) const {
    std::vector<std::string> words = trial.words;
    settle(words, "--threads", options_.threads);
    settle(words, "--shards", options_.shards);
    words.insert(words.begin(), options_.command.begin(), options_.command.end());
    words.insert(words.end(), {"--quiet", "--resume", "auto", "--out", folder(trial).string()});
    return words;
  }

  // Those that were killed first: they are taken already.
  void start_ready() {
    for (auto next = killed_.begin(); has_room() && next != killed_.end();) {
      const bool starts = is_free(folder(*next));
      if (starts) start(*next);
      next = starts ? killed_.erase(next) : std::next(next);
    }
    if (!has_room()) return;
    for (const Trial& trial : source_.ready()) {
      if (!has_room()) return;
      if (is_free(folder(trial)) && source_.take(trial)) start(trial);
    }
  }

  void start(const Trial& trial) {
    running_.push_back({trial, std::make_unique<Process>(command_of(trial))});
    ++starts_[trial.name];
  }

  void end_unwanted() {
    for (Running& running : running_) {
      if (running.is_unwanted || source_.wants(running.trial)) continue;
      running.is_unwanted = true;
      running.process->signal(SIGTERM);
    }
  }

  // True where a trial ended.
  bool reap() {
    const size_t before = running_.size();
    for (auto at = running_.begin(); at != running_.end();) {
      if (at->process->runs()) {
        ++at;
        continue;
      }
      const ProcessResult result = at->process->wait();
      const Running ended = std::move(*at);
      at = running_.erase(at);
      take(ended, result);
    }
    return running_.size() != before;
  }

  // How a trial ended is what its folder says; its exit code counts where the folder says nothing.
  void take(const Running& ended, const ProcessResult& result) {
    const Trial& trial = ended.trial;
    if (const std::optional<TrialOutcome> done = outcome_of_done(folder(trial))) return end(trial, *done);
    if (is_stopping_) return source_.ended(trial, {TrialEnd::stopped});
    if (ended.is_unwanted) return end(trial, {TrialEnd::stopped});
    const bool was_killed = result.status > 128;
    if (was_killed && starts_[trial.name] < kMostStarts) return killed_.push_back(trial);
    std::string message = result.output;
    if (was_killed)
      message += fmt::format("{}: signal {} ended it {} times\n  hint:     {}", trial.name, result.status - 128,
                             kMostStarts, "signal 9 is often the system's, where memory runs out: fewer --jobs");
    if (message.empty()) message = fmt::format("exit code {}, without a word", result.status);
    end(trial, {TrialEnd::failed, false, std::move(message)});
  }

  void end(const Trial& trial, const TrialOutcome& outcome) {
    source_.ended(trial, outcome);
    observer_.ended(trial, outcome);
  }

  void stop() {
    is_stopping_ = true;
    for (const Running& running : running_) running.process->signal(SIGTERM);
  }

  TrialSource& source_;
  const ExecutorOptions& options_;
  TrialObserver& observer_;
  std::map<std::string, int> starts_;
  std::vector<Trial> killed_;  // to be started once more
  std::vector<Running> running_;
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
  return std::move(list).outcomes();
}

bool run_trials(TrialSource& source, const ExecutorOptions& options, TrialObserver& observer) {
  return Executor(source, options, observer).run();
}

int choose_jobs(int64_t asked, size_t trials, int processes, bool on_gpu) {
  const int64_t most = asked > 0 ? asked : on_gpu ? 1 : usable_processors() / std::max(1, processes);
  return static_cast<int>(std::clamp<int64_t>(most, 1, std::max<int64_t>(1, static_cast<int64_t>(trials))));
}

}  // namespace kb
