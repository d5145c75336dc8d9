#include "recipes/sweep/sweep.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>

#include "recipes/run/console.h"
#include "recipes/run/interrupt.h"
#include "recipes/run/progress_line.h"
#include "recipes/sweep/claims.h"
#include "recipes/sweep/gpu_share.h"
#include "recipes/sweep/packing.h"
#include "recipes/sweep/sweep_index.h"
#include "recipes/sweep/sweep_source.h"
#include "recipes/sweep/sweep_table.h"
#include "recipes/sweep/sweep_trials.h"
#include "recipes/trials/executor.h"

namespace kb {
namespace {

std::string ending_of(const PlannedTrial& trial, const TrialOutcome& outcome) {
  const TrialStanding& standing = trial.standing;
  if (outcome.end == TrialEnd::failed)
    return "failed: " + outcome.message.substr(0, outcome.message.find_last_not_of('\n') + 1);
  if (trial.state == TrialState::reached) return fmt::format("target after {} steps", standing.target_step);
  if (trial.state == TrialState::diverged) return fmt::format("diverged after {} steps", standing.steps);
  if (trial.state == TrialState::hopeless) return fmt::format("hopeless after {} steps: stopped", standing.steps);
  if (trial.state == TrialState::missed) return fmt::format("target not reached in {} steps", standing.steps);
  return "another process has taken it over";
}

// Prints a line for each trial of this process that ended or waits for its folder, and how long the rest may take.
class SweepConsole : public TrialObserver {
 public:
  // `budget`: time after which it asks to stop. `console` and `view` must outlive this object.
  SweepConsole(Console& console, const SweepView& view, std::optional<std::chrono::duration<double>> budget)
      : console_(console), view_(view), budget_(budget), closed_before_(view.plan().closed()) {}

  void ended(const Trial& trial, const TrialOutcome& outcome) override {
    const PlannedTrial* planned = view_.plan().find(trial.name);
    if (!planned) return;
    const std::string values = values_text(*planned);
    console_.line(fmt::format("{}{}{}: {}  ({})", trial.name, values.empty() ? "" : ", ", values,
                              ending_of(*planned, outcome), standing()));
  }

  void waits(const Trial& trial, const std::filesystem::path& folder) override {
    console_.line(waiting_text(trial, folder));
  }

  void progress(double, size_t running) override {
    if (console_.wants_progress()) console_.status(fmt::format("{}, {} running", standing(), running));
  }

  bool wants_to_stop() override { return Interrupt::number() != 0 || has_spent(); }

 private:
  using Clock = std::chrono::steady_clock;
  bool has_spent() const { return budget_ && Clock::now() - started_ >= *budget_; }

  // Returns how many trials are done and the time that is left at most: that of the greatest possible number of trials,
  // each as long as those that were done. Later trials are capped by earlier ones, and most are stopped before that.
  std::string standing() const {
    const size_t closed = view_.plan().closed(), most = view_.plan().most_trials(view_.definition());
    std::string text = fmt::format("{} of at most {} done", closed, most);
    if (closed <= closed_before_ || closed >= most) return text;
    const double passed = std::chrono::duration<double>(Clock::now() - started_).count();
    const double each = passed / static_cast<double>(closed - closed_before_);
    return text + fmt::format(", at most {} left", time_left_text(each * static_cast<double>(most - closed)));
  }

  Console& console_;
  const SweepView& view_;
  const std::optional<std::chrono::duration<double>> budget_;
  const Clock::time_point started_ = Clock::now();
  const size_t closed_before_;  // number of trials that were closed when this process began
};

std::string what_is_done(const SweepView& view) {
  return fmt::format("{} minibatches, {} of at most {} trials done, in {}", view.definition().minibatches.size(),
                     view.plan().closed(), view.plan().most_trials(view.definition()), view.folder().string());
}

// Trains the trials that wait. Returns false if it was asked to stop.
bool train_waiting(const Recipe& recipe, const SweepWork& work, SweepView& view, SweepConsole& watch, SweepIndex& index,
                   Console& console) {
  if (view.plan().waiting().empty()) return true;
  const auto say = [&](const std::string& line) { console.line(line); };
  const std::unique_ptr<const GpuShare> share =
      may_share_gpu(recipe, view, work.jobs) ? std::make_unique<GpuShare>() : nullptr;
  std::vector<std::string> program = work.program;
  if (share) program.insert(program.begin(), share->words().begin(), share->words().end());
  if (share && !share->shortfall().empty()) say("trials take turns on the GPU: " + share->shortfall());
  const std::optional<TrialResources> resources =
      choose_resources(recipe, view, {program, work.jobs, [&] { return watch.wants_to_stop(); }, say});
  if (!resources) return false;
  say(fmt::format("{} at once, {} thread{} each", resources->jobs, resources->threads,
                  resources->threads == 1 ? "" : "s"));
  ClaimFolder claims(view.folder() / "claims", work.lease);
  const std::unique_ptr<TrialSource> source = make_sweep_source(recipe, view, claims, index, say);
  return run_trials(*source, {view.folder(), program, resources->jobs, resources->threads, view.definition().shards},
                    watch);
}

// Prints what to do next; returns the exit code.
int conclude(const SweepView& view, const SweepWork& work, bool has_stopped, Console& console) {
  if (has_stopped) {
    console.line((Interrupt::number() != 0 ? "stopped; to go on: " : "the budget is spent; to go on: ") + work.go_on);
    return Interrupt::number() != 0 ? 128 + Interrupt::number() : 0;
  }
  if (!view.plan().is_done()) {
    const size_t failed = view.plan().count(TrialState::failed);
    console.line(fmt::format(
        "not done: {} trial{} failed here, and larger minibatches wait for them; to go on, once the reason is gone: {}",
        failed, failed == 1 ? "" : "s", work.go_on));
    return 1;
  }
  console.line("next: ./run study " + view.folder().string());
  return 0;
}

}  // namespace

int run_sweep(const Recipe& recipe, const SweepWork& work) {
  Console console(work.quiet);
  check_build(read_sweep(work.store), work.store.string());
  SweepView view(work.store, [&](const SweepDefinition& definition, const PlannedTrial& trial) {
    return refusal_of(recipe, definition, trial);
  });
  view.advance();
  console.line("sweep: " + what_is_done(view));
  for (const std::string& line : foreign_runs(view)) console.line("NOTE: " + line);
  const Interrupt interrupt;
  Interrupt::remember(false);
  SweepConsole watch(console, view, work.budget);
  SweepIndex index;
  const bool has_stopped = !train_waiting(recipe, work, view, watch, index, console);
  view.refresh();
  if (const std::string reason = index.write(view); !reason.empty()) console.line("NOTE: " + reason);
  console.line("\n" + sweep_table(view.plan()) + "store: " + view.folder().string() +
               " (index.sqlite, a run folder for each trial)");
  return conclude(view, work, has_stopped, console);
}

}  // namespace kb
