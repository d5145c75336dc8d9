#include "recipes/study/executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
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

class Executor {
 public:
  Executor(const std::vector<Trial>& trials, const ExecutorOptions& options, TrialObserver& observer)
      : trials_(trials), options_(options), observer_(observer), outcomes_(trials.size()), starts_(trials.size(), 0) {}

  std::optional<std::vector<TrialOutcome>> run() {
    find_done();
    for (int look = 0; !waiting_.empty() || !running_.empty(); ++look) {
      if (!is_stopping_ && observer_.wants_to_stop()) stop();
      if (is_stopping_ && running_.empty()) return std::nullopt;
      start_waiting();
      reap();
      if (look % kLooksPerProgress == 0 && !is_stopping_) observer_.progress(share_done(), running_.size());
      std::this_thread::sleep_for(kLookEvery);
    }
    std::vector<TrialOutcome> outcomes;
    for (std::optional<TrialOutcome>& outcome : outcomes_) {
      if (!outcome) return std::nullopt;  // it was stopped
      outcomes.push_back(std::move(*outcome));
    }
    return outcomes;
  }

 private:
  struct Running {
    size_t trial = 0;
    std::unique_ptr<Process> process;
  };

  fs::path folder(size_t trial) const { return options_.store / trials_[trial].name; }

  void find_done() {
    for (size_t trial = 0; trial < trials_.size(); ++trial) {
      std::optional<TrialOutcome> done = outcome_of_done(folder(trial));
      if (!done) {
        waiting_.push_back(trial);
        continue;
      }
      done->was_done = true;
      end(trial, *done);
    }
  }

  std::vector<std::string> command_of(size_t trial) const {
    std::vector<std::string> words = trials_[trial].words;
    settle(words, "--threads", options_.threads);
    settle(words, "--shards", options_.shards);
    words.insert(words.begin(), options_.command.begin(), options_.command.end());
    words.insert(words.end(), {"--quiet", "--resume", "auto", "--out", folder(trial).string()});
    return words;
  }

  void start_waiting() {
    for (auto next = waiting_.begin(); !is_stopping_ && next != waiting_.end();) {
      if (std::ssize(running_) >= options_.jobs) return;
      if (!is_free(folder(*next))) {
        ++next;
        continue;
      }
      running_.push_back({*next, std::make_unique<Process>(command_of(*next))});
      ++starts_[*next];
      next = waiting_.erase(next);
    }
  }

  void reap() {
    for (auto at = running_.begin(); at != running_.end();) {
      if (at->process->runs()) {
        ++at;
        continue;
      }
      const ProcessResult result = at->process->wait();
      const size_t trial = at->trial;
      at = running_.erase(at);
      if (!is_stopping_ || outcome_of_done(folder(trial))) take(trial, result);
    }
  }

  // How a trial ended is what its folder says; its exit code counts where the folder says nothing.
  void take(size_t trial, const ProcessResult& result) {
    if (const std::optional<TrialOutcome> done = outcome_of_done(folder(trial))) return end(trial, *done);
    const bool was_killed = result.status > 128;
    if (was_killed && starts_[trial] < kMostStarts) return waiting_.insert(waiting_.begin(), trial), void();
    std::string message = result.output;
    if (was_killed)
      message +=
          fmt::format("{}: signal {} ended it {} times\n  hint:     {}", trials_[trial].name, result.status - 128,
                      kMostStarts, "signal 9 is often the system's, where memory runs out: fewer --jobs");
    if (message.empty()) message = fmt::format("exit code {}, without a word", result.status);
    end(trial, {TrialEnd::failed, false, std::move(message)});
  }

  void end(size_t trial, TrialOutcome outcome) {
    outcomes_[trial] = std::move(outcome);
    observer_.ended(trials_[trial], *outcomes_[trial]);
  }

  void stop() {
    is_stopping_ = true;
    for (const Running& running : running_) running.process->signal(SIGTERM);
  }

  double share_done() const {
    auto share =
        static_cast<double>(std::count_if(outcomes_.begin(), outcomes_.end(), [](const auto& o) { return o; }));
    for (const Running& running : running_) share += share_of_run(folder(running.trial));
    for (const size_t trial : waiting_) share += share_of_run(folder(trial));
    return share;
  }

  const std::vector<Trial>& trials_;
  const ExecutorOptions& options_;
  TrialObserver& observer_;
  std::vector<std::optional<TrialOutcome>> outcomes_;
  std::vector<int> starts_;
  std::vector<size_t> waiting_;
  std::vector<Running> running_;
  bool is_stopping_ = false;
};

}  // namespace

std::optional<std::vector<TrialOutcome>> run_trials(const std::vector<Trial>& trials, const ExecutorOptions& options,
                                                    TrialObserver& observer) {
  fs::create_directories(options.store);
  const FolderLock lock(options.store);
  if (!lock.has_it()) throw Error(fmt::format("{} is in use: another process runs its trials", options.store.string()));
  return Executor(trials, options, observer).run();
}

int choose_jobs(int64_t asked, size_t trials, int processes, bool on_gpu) {
  const int64_t most = asked > 0 ? asked : on_gpu ? 1 : usable_processors() / std::max(1, processes);
  return static_cast<int>(std::clamp<int64_t>(most, 1, std::max<int64_t>(1, static_cast<int64_t>(trials))));
}

}  // namespace kb
