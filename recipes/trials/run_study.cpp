#include "recipes/trials/run_study.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "recipes/run/interrupt.h"
#include "recipes/trials/study_folder.h"
#include "recipes/trials/summary.h"

namespace kb {

std::string outcome_text(const std::filesystem::path& folder, const TrialOutcome& outcome) {
  if (outcome.end == TrialEnd::failed) return "failed";
  const RunReport run = read_run(folder);
  if (outcome.end == TrialEnd::diverged) return fmt::format("diverged after {} steps", run.steps);
  const Summary alone = summary_of({run});
  return fmt::format("{} {} {}{}", run.result_part, run.goal, goal_text(alone, run.result),
                     std::isfinite(run.seconds) ? fmt::format(", {:.0f} s", run.seconds) : "");
}

namespace {

// Prints a line for each training of a study that ended or waits for its folder, and how long the rest may take.
class StudyConsole : public TrialObserver {
 public:
  // `store`: the folder of ExecutorOptions. `trials`: number of trials. The console must outlive this object.
  StudyConsole(Console& console, std::filesystem::path store, size_t trials)
      : console_(console), store_(std::move(store)), trials_(trials) {}

  void ended(const Trial& trial, const TrialOutcome& outcome) override {
    ++ended_;
    console_.line(ended_text(trial.name,
                             outcome_text(store_ / trial.name, outcome) + (outcome.was_done ? ", before" : ""),
                             fmt::format("{} of {} done{}", ended_, trials_, time_left()), outcome));
  }

  void progress(double done, size_t running) override {
    if (done_before_ < 0) done_before_ = done;
    done_ = done;
    if (console_.wants_progress())
      console_.status(fmt::format("{:.1f} of {} trainings done, {} running{}", done, trials_, running, time_left()));
  }

  void waits(const Trial& trial, const std::filesystem::path& folder) override {
    console_.line(waiting_text(trial, folder));
  }

  bool wants_to_stop() override { return Interrupt::number() != 0; }  // true once a signal came (Interrupt)

 private:
  using Clock = std::chrono::steady_clock;

  std::string time_left() const {
    constexpr double kFirstGuess = 0.02;  // trials that must be done before an estimate is made
    const double done = done_ - done_before_;
    if (done_before_ < 0 || done < kFirstGuess || ended_ == trials_) return "";
    const double passed = std::chrono::duration<double>(Clock::now() - started_).count();
    return fmt::format(", about {} left", time_left_text(passed * (static_cast<double>(trials_) - done_) / done));
  }

  Console& console_;
  const std::filesystem::path store_;
  const size_t trials_;
  const Clock::time_point started_ = Clock::now();
  size_t ended_ = 0;
  double done_before_ = -1, done_ = 0;  // number of trials done, with shares, at the first progress() and now
};

StudyRuns runs_of(const Study& study, const std::vector<Trial>& asked, const std::vector<TrialOutcome>& outcomes) {
  StudyRuns result{study.folder, {}, {}, {}};
  for (size_t i = 0; i < asked.size(); ++i)
    if (outcomes[i].end == TrialEnd::failed) result.failed.insert(asked[i].name);
  for (const Trial& trial : study.trials) {
    result.names.push_back(trial.name);
    // A trial that an earlier call asked for may not have begun.
    if (std::optional<RunReport> run = find_run(study.folder / trial.name); run && run->is_done())
      result.runs.emplace(trial.name, *std::move(run));
  }
  return result;
}

}  // namespace

std::optional<StudyRuns> run_study(const StudyRequest& request, Console& console) {
  const auto& [name, out, trials, resources, program, go_on] = request;
  const Study study = open_study(name, out, trials, resources.shards);
  console.line(fmt::format("{} training{}, {}, in {}", trials.size(), trials.size() == 1 ? "" : "s", resources.text(),
                           study.folder.string()));
  const Interrupt interrupt;
  Interrupt::remember(false);
  StudyConsole watch(console, study.folder, trials.size());
  const ExecutorOptions options{study.folder, program, resources.jobs, resources.threads, study.shards};
  const auto outcomes = run_trials(trials, options, watch);
  if (!outcomes) {
    console.line("stopped; to go on: " + go_on);
    return std::nullopt;
  }
  return runs_of(study, trials, *outcomes);
}

}  // namespace kb
