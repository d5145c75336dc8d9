#include "recipes/sweep/sweep_source.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "recipes/sweep/sweep_trials.h"

namespace kb {
namespace {

constexpr std::chrono::milliseconds kLookAgain{500};  // interval between looks at the run folders
constexpr std::chrono::minutes kIndexAgain{1};        // least time between two writes of the index
constexpr int kMostFailures = 3;                      // number of failures in a row after which it gives up

class SweepSource : public TrialSource {
 public:
  SweepSource(const Recipe& recipe, SweepView& view, ClaimFolder& claims, SweepIndex& index,
              std::function<void(const std::string&)> say)
      : recipe_(recipe), view_(view), claims_(claims), index_(index), say_(std::move(say)) {
    look(true);
  }

  std::vector<Trial> ready() override {
    look();
    std::vector<Trial> ready;
    if (has_given_up()) return ready;
    for (const PlannedTrial* planned : view_.plan().waiting()) {
      if (taken_.contains(planned->name)) continue;
      if (!known_.contains(planned->name))
        known_.emplace(planned->name, trial_of(recipe_, view_.definition(), *planned));
      ready.push_back(known_.at(planned->name));
    }
    return ready;
  }

  // Looks again once it has the claim, since another process may have done the trial in the meantime.
  bool take(const Trial& trial) override {
    std::unique_ptr<Claim> claim = claims_.take(trial.name);
    if (!claim) {
      held_[trial.name] = claims_.holder(trial.name);
      return false;
    }
    held_.erase(trial.name);
    look(true);
    const PlannedTrial* planned = view_.plan().find(trial.name);
    if (!planned || planned->state != TrialState::waiting) return false;
    taken_.emplace(trial.name, std::move(claim));
    return true;
  }

  // Returns false once the trial is hopeless, or its claim is lost.
  bool wants(const Trial& trial) override {
    look();
    if (taken_.at(trial.name)->is_lost()) return false;
    const PlannedTrial* planned = view_.plan().find(trial.name);
    return planned && planned->state != TrialState::hopeless;
  }

  void ended(const Trial& trial, const TrialOutcome& outcome) override {
    const bool has_failed = outcome.end == TrialEnd::failed;
    if (has_failed) view_.add_failed(trial.name);
    if (outcome.end != TrialEnd::stopped) failures_ = has_failed ? failures_ + 1 : 0;
    taken_.erase(trial.name);
    look(true);
    if (Clock::now() - indexed_ < kIndexAgain) return;
    index_.write(view_);  // errors are not reported here: the write at the sweep's end reports them
    indexed_ = Clock::now();
  }

  // Returns true also after several failures in a row, whose cause is local.
  bool is_done() override {
    look();
    if (has_given_up() || view_.plan().waiting().empty()) return true;
    if (taken_.empty()) say_what_it_waits_for();
    return false;
  }

  double done() override { return static_cast<double>(view_.plan().closed()); }

 private:
  using Clock = std::chrono::steady_clock;

  void look(bool now = false) {
    if (!now && Clock::now() - looked_ < kLookAgain) return;
    view_.advance();
    looked_ = Clock::now();
  }

  bool has_given_up() const { return failures_ >= kMostFailures; }

  // Prints the most urgent trial that another process holds, and nothing if that was the last line already.
  void say_what_it_waits_for() {
    for (const PlannedTrial* planned : view_.plan().waiting()) {
      const auto held = held_.find(planned->name);
      if (held == held_.end()) continue;
      const std::string line =
          fmt::format("waiting for {}, held by {}", held->first,
                      held->second.empty() ? "a claim that names no host, for one lease" : held->second);
      if (line != std::exchange(said_, line)) say_(line);
      return;
    }
  }

  const Recipe& recipe_;
  SweepView& view_;
  ClaimFolder& claims_;
  SweepIndex& index_;
  const std::function<void(const std::string&)> say_;
  std::map<std::string, Trial> known_;
  std::map<std::string, std::unique_ptr<Claim>> taken_;
  std::map<std::string, std::string> held_;  // trials that others had at the last look, and their hosts
  std::string said_;
  int failures_ = 0;  // number of failures in a row
  Clock::time_point looked_ = {}, indexed_ = Clock::now();
};

}  // namespace

std::unique_ptr<TrialSource> make_sweep_source(const Recipe& recipe, SweepView& view, ClaimFolder& claims,
                                               SweepIndex& index, std::function<void(const std::string&)> say) {
  return std::make_unique<SweepSource>(recipe, view, claims, index, std::move(say));
}

}  // namespace kb
