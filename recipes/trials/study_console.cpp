#include "recipes/trials/study_console.h"

#include <fmt/format.h>

#include <cmath>

#include "recipes/run/interrupt.h"
#include "recipes/run/progress_line.h"
#include "recipes/trials/summary.h"

namespace kb {

std::string outcome_text(const std::filesystem::path& folder, const TrialOutcome& outcome) {
  if (outcome.end == TrialEnd::failed)
    return "failed: " + outcome.message.substr(0, outcome.message.find_last_not_of('\n') + 1);
  const RunReport run = read_run(folder);
  if (outcome.end == TrialEnd::diverged) return fmt::format("diverged after {} steps", run.steps);
  const Summary alone = summary_of({run});
  return fmt::format("{} {} {}{}", run.result_part, run.goal, goal_text(alone, run.result),
                     std::isfinite(run.seconds) ? fmt::format(", {:.0f} s", run.seconds) : "");
}

StudyConsole::StudyConsole(Console& console, std::filesystem::path store, size_t trials)
    : console_(console), store_(std::move(store)), trials_(trials) {}

void StudyConsole::ended(const Trial& trial, const TrialOutcome& outcome) {
  ++ended_;
  if (outcome.was_done) ++were_done_;
  console_.line(fmt::format("{}: {}{}  ({} of {} done{})", trial.name, outcome_text(store_ / trial.name, outcome),
                            outcome.was_done ? ", before" : "", ended_, trials_, time_left()));
}

std::string StudyConsole::time_left() const {
  constexpr double kFirstGuess = 0.02;  // trials that must be done before an estimate is made
  const double done = done_ - done_before_;
  if (done_before_ < 0 || done < kFirstGuess || ended_ == trials_) return "";
  const double passed = std::chrono::duration<double>(Clock::now() - started_).count();
  return fmt::format(", about {} left", time_left_text(passed * (static_cast<double>(trials_) - done_) / done));
}

void StudyConsole::progress(double done, size_t running) {
  if (done_before_ < 0) done_before_ = done;
  done_ = done;
  if (console_.wants_progress())
    console_.status(fmt::format("{:.1f} of {} trainings done, {} running{}", done, trials_, running, time_left()));
}

void StudyConsole::waits(const Trial& trial, const std::filesystem::path& folder) {
  console_.line(waiting_text(trial, folder));
}

bool StudyConsole::wants_to_stop() { return Interrupt::number() != 0; }

}  // namespace kb
