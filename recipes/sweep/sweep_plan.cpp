#include "recipes/sweep/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "recipes/config/values.h"

namespace kb {
namespace {

// An extension of a range by a third of it, beyond one of its ends.
struct Widening {
  size_t range = 0;
  bool is_above = false;
  int number = 1;  // counts the widenings of that end: 1 lies beside the range
};

int64_t widened_trials(const SweepDefinition& definition) { return (definition.trials + 2) / 3; }

std::string widened_name(const SweepDefinition& definition, int64_t minibatch, const Widening& widening,
                         int64_t number) {
  return fmt::format("kn{}-{}{}-{}-p{:02}", minibatch, widening.is_above ? "above" : "below", widening.number,
                     definition.ranges[widening.range].range.flag, number);
}

bool is_closed_trial(const PlannedTrial& trial) {
  return trial.state != TrialState::waiting && trial.state != TrialState::failed;
}

// Returns whether `one` took fewer steps to the target. Trials of a minibatch are evaluated at the same steps, so that
// a trial which crosses the target first never has the later target_step.
bool took_fewer(const TrialStanding& one, const TrialStanding& other) {
  return std::pair(one.crossing, one.target_step) < std::pair(other.crossing, other.target_step);
}

// Plans one minibatch from what is known of the smaller ones.
class MinibatchPlanner {
 public:
  MinibatchPlanner(const SweepDefinition& definition, const Standings& standings, MinibatchPlan& plan)
      : definition_(definition), standings_(standings), plan_(plan) {}

  void plan() {
    for (std::vector<double>& point : points_of(definition_)) add_point(std::move(point));
    judge();
    add_redraws();
    for (const Widening& widening : begun_widenings()) add_widening(widening);
    judge();
    while (std::optional<Widening> widening = due_widening()) {
      add_widening(*widening);
      judge();
    }
    plan_.is_searched = is_closed();
    if (!plan_.is_searched) return;
    plan_.bounds = bounds();
    add_seeds();
  }

 private:
  void add(std::string name, std::vector<double> point) {
    PlannedTrial trial{.name = std::move(name),
                       .minibatch = plan_.minibatch,
                       .seed = definition_.first_seed,
                       .values = values_at(definition_, plan_.opening.centre, point),
                       .most_steps = plan_.opening.most_steps,
                       .point = std::move(point)};
    trial.standing = standing_of(trial);
    plan_.trials.push_back(std::move(trial));
  }

  TrialStanding standing_of(const PlannedTrial& trial) const {
    const auto found = standings_.find(trial.name);
    if (found == standings_.end()) return {};
    const std::optional<TrialRun>& run = found->second.run;
    if (!run || difference_text(expected_run(trial, definition_), *run).empty()) return found->second;
    return {.end = TrialState::foreign, .run = run};
  }

  void add_point(std::vector<double> point) {
    add(fmt::format("kn{}-p{:02}", plan_.minibatch, plan_.trials.size()), std::move(point));
  }

  // Adds the next point of the sequence for each trial that diverged, once all trials before are closed: only then it
  // is known which of them are hopeless instead, whatever their order was.
  void add_redraws() {
    if (definition_.points != PointKind::halton || definition_.ranges.empty()) return;
    const auto most = static_cast<int64_t>(definition_.constants.draws * static_cast<double>(definition_.trials));
    while (is_closed()) {
      const int64_t drawn = std::ssize(plan_.trials);
      const int64_t next = std::min(most, definition_.trials + count_diverged());
      if (next <= drawn) return;
      for (int64_t number = drawn; number < next; ++number)
        add_point(halton_point(number, definition_.ranges.size(), definition_.point_seed));
      judge();
    }
  }

  int64_t count_diverged() const {
    return std::count_if(plan_.trials.begin(), plan_.trials.end(),
                         [](const PlannedTrial& trial) { return trial.state == TrialState::diverged; });
  }

  void add_widening(const Widening& widening) {
    widenings_.push_back(widening);
    for (int64_t number = 0; number < widened_trials(definition_); ++number) {
      std::vector<double> point = halton_point(number, definition_.ranges.size(), definition_.point_seed);
      double& u = point[widening.range];
      u = (widening.number - 1 + u) / 3;
      u = widening.is_above ? 1 + u : -u;
      add(widened_name(definition_, plan_.minibatch, widening, number), std::move(point));
    }
  }

  // Returns the widenings of which a trial has begun. They stay a part of the plan even if the sweep grew and has
  // another best trial now.
  std::vector<Widening> begun_widenings() const {
    std::vector<Widening> begun;
    for (size_t range = 0; range < definition_.ranges.size(); ++range)
      for (const bool is_above : {false, true})
        for (int number = 1; number <= definition_.constants.widenings; ++number) {
          const Widening widening{range, is_above, number};
          if (has_begun(widening)) begun.push_back(widening);
        }
    return begun;
  }

  bool has_begun(const Widening& widening) const {
    for (int64_t number = 0; number < widened_trials(definition_); ++number)
      if (standings_.contains(widened_name(definition_, plan_.minibatch, widening, number))) return true;
    return false;
  }

  void judge() {
    plan_.best.reset();
    for (size_t i = 0; i < plan_.trials.size(); ++i) {
      const TrialStanding& own = plan_.trials[i].standing;
      if (own.end != TrialState::reached) continue;
      if (!plan_.best || took_fewer(own, plan_.trials[*plan_.best].standing)) plan_.best = i;
    }
    for (PlannedTrial& trial : plan_.trials)
      trial.state = is_hopeless(trial.standing) ? TrialState::hopeless : trial.standing.end;
  }

  // Returns whether a trial is hopeless, even if it ended later than it would have been stopped: whether it was stopped
  // depends on when the best one was done.
  bool is_hopeless(const TrialStanding& standing) const {
    const TrialState end = standing.end;
    const bool may_be = end == TrialState::waiting || end == TrialState::missed || end == TrialState::diverged;
    if (!plan_.best || !may_be) return false;
    const auto least = static_cast<double>(plan_.trials[*plan_.best].standing.target_step);
    return static_cast<double>(standing.steps) > definition_.constants.hopeless * least;
  }

  bool is_closed() const { return std::all_of(plan_.trials.begin(), plan_.trials.end(), is_closed_trial); }

  int times_widened(size_t range, bool is_above) const {
    return static_cast<int>(std::count_if(widenings_.begin(), widenings_.end(), [&](const Widening& widening) {
      return widening.range == range && widening.is_above == is_above;
    }));
  }

  // Returns whether the best trial lies at an end of the range: no trial lies beyond it, or it lies in the outer share
  // of what was tried and not all trials beyond it diverged or were refused.
  bool is_at_end(size_t range, bool is_above) const {
    const auto place = [&](const PlannedTrial& trial) {
      return is_above ? trial.point[range] : 1 - trial.point[range];
    };
    const double own = place(plan_.trials[*plan_.best]);
    bool is_any_beyond = false, is_any_trained = false;
    for (const PlannedTrial& trial : plan_.trials) {
      if (place(trial) <= own || trial.state == TrialState::foreign) continue;
      is_any_beyond = true;
      is_any_trained |= trial.state != TrialState::diverged && trial.state != TrialState::refused;
    }
    if (!is_any_beyond) return true;
    return is_any_trained && own > 1 + times_widened(range, is_above) / 3.0 - definition_.constants.edge;
  }

  std::vector<RangeBound> bounds() const {
    std::vector<RangeBound> bounds;
    if (!plan_.best || plan_.trials.size() < 2) return bounds;
    for (size_t range = 0; range < definition_.ranges.size(); ++range) {
      if (definition_.ranges[range].range.scale == Scale::list) continue;
      for (const bool is_above : {false, true})
        if (is_at_end(range, is_above)) bounds.push_back({definition_.ranges[range].range.flag, is_above});
    }
    return bounds;
  }

  // Returns the end of a range that lies away from the trials that diverged, if no trial reached the target and some
  // diverged. The range is the one in which their mean place differs most from that of the others. If all diverged, it
  // is the low end of the first range.
  std::vector<RangeBound> away_from_divergence() const {
    const int64_t diverged = count_diverged(), others = std::ssize(plan_.trials) - diverged;
    if (plan_.best || diverged == 0 || definition_.constants.edge == 0) return {};
    std::optional<RangeBound> furthest;
    double most = 0;
    for (size_t range = 0; range < definition_.ranges.size(); ++range) {
      if (definition_.ranges[range].range.scale == Scale::list) continue;
      double distance = 0;  // mean place of the trials that diverged, less that of the others
      for (const PlannedTrial& trial : plan_.trials)
        distance += trial.state == TrialState::diverged ? trial.point[range] / static_cast<double>(diverged)
                                                        : -trial.point[range] / static_cast<double>(others);
      if (others == 0) distance = 1;
      if (std::abs(distance) <= most) continue;
      most = std::abs(distance);
      furthest = RangeBound{definition_.ranges[range].range.flag, distance < 0};
    }
    return furthest ? std::vector<RangeBound>{*furthest} : std::vector<RangeBound>();
  }

  std::optional<Widening> due_widening() const {
    if (!is_closed() || std::ssize(widenings_) >= definition_.constants.widenings) return std::nullopt;
    for (const RangeBound& bound : plan_.best ? bounds() : away_from_divergence())
      for (size_t range = 0; range < definition_.ranges.size(); ++range) {
        const SweepRange& own = definition_.ranges[range];
        if (own.range.flag != bound.flag || !(bound.is_above ? own.widens_above : own.widens_below)) continue;
        return Widening{range, bound.is_above, times_widened(range, bound.is_above) + 1};
      }
    return std::nullopt;
  }

  void add_seeds() {
    if (!plan_.best) return;
    const PlannedTrial best = plan_.trials[*plan_.best];
    for (int64_t seed = definition_.first_seed + 1; seed < definition_.first_seed + definition_.seeds; ++seed) {
      PlannedTrial trial = best;
      trial.name = fmt::format("{}-seed-{}", best.name, seed);
      trial.seed = seed;
      trial.is_search = false;
      trial.most_steps = steps_of_seeds(best);
      trial.standing = standing_of(trial);
      // A further seed is trained to its end: it shows how far chance goes, and is no candidate for the best trial.
      trial.state = trial.standing.end;
      plan_.trials.push_back(std::move(trial));
    }
  }

  // Returns the greatest number of steps of the best trial's further seeds. With any schedule but a constant rate, the
  // length of a training is a part of what it learns, so that it stays.
  int64_t steps_of_seeds(const PlannedTrial& best) const {
    const double most = definition_.constants.seed_cap * static_cast<double>(best.standing.target_step);
    if (most == 0 || !has_constant_rate(definition_)) return best.most_steps;
    return static_cast<int64_t>(std::min(static_cast<double>(kWholeBelow - 1), std::ceil(most)));
  }

  const SweepDefinition& definition_;
  const Standings& standings_;
  MinibatchPlan& plan_;
  std::vector<Widening> widenings_;
};

// Returns the greatest number of steps of a trial: --cap times the samples of the best trial at the minibatch before,
// or least_cap times its steps if those are more, but no more than --steps accepts.
int64_t capped_steps(const SweepDefinition& definition, const TrialStanding& best, int64_t minibatch) {
  constexpr double kMost = kWholeBelow - 1;
  const double by_samples = definition.cap * best.samples / static_cast<double>(minibatch);
  const double by_steps = definition.constants.least_cap * static_cast<double>(best.target_step);
  return static_cast<int64_t>(std::min(kMost, std::ceil(std::max(by_samples, by_steps))));
}

// Returns the opening of a minibatch around the best values of the next smaller minibatch that has a best trial.
Opening opening_after(const SweepDefinition& definition, const std::vector<MinibatchPlan>& smaller, int64_t minibatch) {
  for (auto plan = smaller.rbegin(); plan != smaller.rend(); ++plan) {
    if (!plan->best) continue;
    const PlannedTrial& best = plan->trials[*plan->best];
    Opening opening;
    for (const SweepRange& range : definition.ranges)
      if (range.range.is_relative) opening.centre[range.range.flag] = std::stod(best.values.at(range.range.flag));
    opening.most_steps = capped_steps(definition, best.standing, minibatch);
    return opening;
  }
  return {definition.centre, 0};
}

template <class Condition>
size_t count_in(const SweepPlan& plan, const Condition& holds) {
  size_t count = 0;
  for (const MinibatchPlan& minibatch : plan.minibatches)
    count += static_cast<size_t>(std::count_if(minibatch.trials.begin(), minibatch.trials.end(), holds));
  return count;
}

}  // namespace

bool PlannedTrial::is_final() const {
  const bool has_ended = standing.end != TrialState::waiting && standing.end != TrialState::failed;
  return has_ended || (state == TrialState::hopeless && standing.is_stopped);
}

std::vector<const PlannedTrial*> SweepPlan::waiting() const {
  std::vector<const PlannedTrial*> waiting;
  for (const bool is_search : {true, false})
    for (const MinibatchPlan& plan : minibatches)
      for (const PlannedTrial& trial : plan.trials)
        if (trial.state == TrialState::waiting && trial.is_search == is_search) waiting.push_back(&trial);
  return waiting;
}

const PlannedTrial* SweepPlan::find(const std::string& name) const {
  for (const MinibatchPlan& plan : minibatches)
    for (const PlannedTrial& trial : plan.trials)
      if (trial.name == name) return &trial;
  return nullptr;
}

bool SweepPlan::is_done() const {
  return std::all_of(minibatches.begin(), minibatches.end(), [](const MinibatchPlan& plan) {
    return plan.is_searched && std::all_of(plan.trials.begin(), plan.trials.end(), is_closed_trial);
  });
}

size_t SweepPlan::count(TrialState state) const {
  return count_in(*this, [&](const PlannedTrial& trial) { return trial.state == state; });
}

size_t SweepPlan::closed() const { return count_in(*this, is_closed_trial); }

size_t SweepPlan::most_trials(const SweepDefinition& definition) const {
  const bool widens = std::any_of(definition.ranges.begin(), definition.ranges.end(),
                                  [](const SweepRange& range) { return range.widens_below || range.widens_above; });
  const int64_t widened = widens ? definition.constants.widenings * widened_trials(definition) : 0;
  const auto each = static_cast<size_t>(definition.trials + widened + definition.seeds - 1);
  size_t count = 0;
  for (const MinibatchPlan& plan : minibatches)
    count += plan.is_searched ? plan.trials.size() : std::max(each, plan.trials.size());
  return count;
}

std::vector<std::vector<double>> points_of(const SweepDefinition& definition) {
  const size_t dimensions = definition.ranges.size();
  if (definition.points == PointKind::even) return even_points(definition.trials, dimensions);
  std::vector<std::vector<double>> points;
  for (int64_t number = 0; number < definition.trials; ++number)
    points.push_back(halton_point(number, dimensions, definition.point_seed));
  return points;
}

std::map<std::string, std::string> values_at(const SweepDefinition& definition,
                                             const std::map<std::string, double>& centre,
                                             const std::vector<double>& point) {
  std::map<std::string, std::string> values;
  for (size_t i = 0; i < point.size(); ++i) {
    const SearchRange& range = definition.ranges[i].range;
    const auto own = centre.find(range.flag);
    values[range.flag] = value_at(range, point[i], own == centre.end() ? 1 : own->second);
  }
  return values;
}

TrialRun expected_run(const PlannedTrial& trial, const SweepDefinition& definition) {
  TrialRun expected{trial.minibatch, trial.seed, {}, target_of(definition).text()};
  if (const auto rate = trial.values.find("lr"); rate != trial.values.end()) expected.rate = std::stod(rate->second);
  return expected;
}

SweepPlan plan_sweep(const SweepDefinition& definition, const Openings& openings, const Standings& standings) {
  SweepPlan plan;
  bool all_searched = true;
  for (const int64_t minibatch : definition.minibatches) {
    MinibatchPlan next{.minibatch = minibatch};
    const auto kept = openings.find(minibatch);
    next.is_new = kept == openings.end() && all_searched;
    next.is_open = kept != openings.end() || all_searched;
    if (next.is_open) {
      next.opening = next.is_new ? opening_after(definition, plan.minibatches, minibatch) : kept->second;
      MinibatchPlanner(definition, standings, next).plan();
    }
    all_searched = all_searched && next.is_searched;
    plan.minibatches.push_back(std::move(next));
  }
  return plan;
}

}  // namespace kb
