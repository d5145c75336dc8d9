#include "recipes/study/sweep_source.h"

#include "recipes/study/sweep_index.h"
#include "recipes/study/sweep_trials.h"

namespace kb {
namespace {

constexpr std::chrono::milliseconds kLookAgain{500};  // at the run folders
constexpr std::chrono::minutes kIndexAgain{1};

}  // namespace

SweepSource::SweepSource(const Recipe& recipe, SweepView& view, const ClaimFolder& claims)
    : recipe_(recipe), view_(view), claims_(claims) {
  look(true);
}

void SweepSource::look(bool now) {
  if (!now && Clock::now() - looked_ < kLookAgain) return;
  view_.refresh(true);
  looked_ = Clock::now();
}

std::vector<Trial> SweepSource::ready() {
  look();
  std::vector<Trial> ready;
  for (const PlannedTrial* planned : view_.plan().waiting()) {
    if (taken_.contains(planned->name)) continue;
    if (!known_.contains(planned->name)) known_.emplace(planned->name, trial_of(recipe_, view_.definition(), *planned));
    ready.push_back(known_.at(planned->name));
  }
  return ready;
}

// Another process may have done the trial since this one looked.
bool SweepSource::take(const Trial& trial) {
  std::unique_ptr<Claim> claim = claims_.take(trial.name);
  if (!claim) return false;
  look(true);
  const PlannedTrial* planned = view_.plan().find(trial.name);
  if (!planned || planned->state != TrialState::waiting) return false;
  taken_.emplace(trial.name, std::move(claim));
  return true;
}

bool SweepSource::wants(const Trial& trial) {
  look();
  if (taken_.at(trial.name)->is_lost()) return false;
  const PlannedTrial* planned = view_.plan().find(trial.name);
  return planned && planned->state != TrialState::hopeless;
}

void SweepSource::ended(const Trial& trial, const TrialOutcome& outcome) {
  if (outcome.end == TrialEnd::failed) view_.add_failed(trial.name);
  taken_.erase(trial.name);
  look(true);
  if (Clock::now() - indexed_ < kIndexAgain) return;
  write_index(view_);
  indexed_ = Clock::now();
}

bool SweepSource::is_done() {
  look();
  return view_.plan().is_done();
}

double SweepSource::done() { return static_cast<double>(view_.plan().closed()); }

}  // namespace kb
