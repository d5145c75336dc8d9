#include "recipes/sweep/sweep_console.h"

#include <fmt/format.h>

#include "recipes/run/interrupt.h"
#include "recipes/run/progress_line.h"
#include "recipes/sweep/sweep_table.h"

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

}  // namespace

SweepConsole::SweepConsole(Console& console, const SweepView& view, std::optional<std::chrono::duration<double>> budget)
    : console_(console), view_(view), budget_(budget), closed_before_(view.plan().closed()) {}

void SweepConsole::ended(const Trial& trial, const TrialOutcome& outcome) {
  const PlannedTrial* planned = view_.plan().find(trial.name);
  if (!planned) return;
  const std::string values = values_text(*planned);
  console_.line(fmt::format("{}{}{}: {}  ({})", trial.name, values.empty() ? "" : ", ", values,
                            ending_of(*planned, outcome), standing()));
}

void SweepConsole::waits(const Trial& trial, const std::filesystem::path& folder) {
  console_.line(waiting_text(trial, folder));
}

// Returns how many trials are done and the time that is left at most: that of the greatest possible number of trials,
// each as long as those that were done. Later trials are capped by earlier ones, and most are stopped before that.
std::string SweepConsole::standing() const {
  const size_t closed = view_.plan().closed(), most = view_.plan().most_trials(view_.definition());
  std::string text = fmt::format("{} of at most {} done", closed, most);
  if (closed <= closed_before_ || closed >= most) return text;
  const double passed = std::chrono::duration<double>(Clock::now() - started_).count();
  const double each = passed / static_cast<double>(closed - closed_before_);
  return text + fmt::format(", at most {} left", time_left_text(each * static_cast<double>(most - closed)));
}

void SweepConsole::progress(double, size_t running) {
  if (console_.wants_progress()) console_.status(fmt::format("{}, {} running", standing(), running));
}

bool SweepConsole::has_spent() const { return budget_ && Clock::now() - started_ >= *budget_; }

bool SweepConsole::wants_to_stop() { return Interrupt::number() != 0 || has_spent(); }

}  // namespace kb
