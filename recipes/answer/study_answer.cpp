#include "recipes/answer/study_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "graph/error.h"
#include "optim/distributions.h"
#include "optim/power_law.h"
#include "optim/scaling.h"

namespace kb {
namespace {

std::optional<double> diverged_from(const std::vector<RateResult>& rates, const RateResult& best) {
  for (const RateResult& one : rates)
    if (one.rate && best.rate && *one.rate > *best.rate && one.diverged > 0) return one.rate;
  return std::nullopt;
}

// Returns the momentum of a setting such as "momentum=0.95 weight-decay=0.0001"; nothing if it was not searched.
std::optional<double> momentum_of(const std::string& setting) {
  PolicyFlags searched;
  set_policy_words(searched, setting);
  return searched.momentum < 1 ? searched.momentum : std::nullopt;
}

BestResult best_result(const MinibatchResults& at, const BestRate& found) {
  const RateResult& best = at.rates[found.place];
  BestResult result;
  result.minibatch = at.minibatch;
  result.best = best;
  const bool may_be_bound = !found.is_tied && at.rates.front().rate != at.rates.back().rate;
  result.is_least = may_be_bound && best.rate == at.rates.front().rate;
  result.is_greatest = may_be_bound && best.rate == at.rates.back().rate;
  result.diverged_from = diverged_from(at.rates, best);
  const std::optional<double> momentum = momentum_of(best.setting);
  if (best.rate && momentum) result.effective_rate = *best.rate / (1 - *momentum);
  return result;
}

MissedResult missed_result(const MinibatchResults& at) {
  MissedResult missed;
  missed.minibatch = at.minibatch;
  for (const RateResult& one : at.rates) {
    missed.runs += one.runs;
    missed.diverged += one.diverged;
    missed.reached += one.steps.size();
    for (const double steps : one.steps) {
      missed.fewest_steps = std::min(missed.fewest_steps.value_or(steps), steps);
      missed.most_steps = std::max(missed.most_steps.value_or(steps), steps);
    }
    if (one.given_up.empty()) continue;
    const double steps = *std::max_element(one.given_up.begin(), one.given_up.end());
    missed.least_steps = std::min(missed.least_steps.value_or(steps), steps);
  }
  if (missed.reached > 0) missed.least_steps.reset();
  return missed;
}

// Returns the slope over the minibatches up to `last`; nothing for fewer than three.
std::optional<SlopeOfSteps> slope_up_to(const StudyAnswer& answer, double last) {
  constexpr size_t kFewest = 3;
  std::vector<std::pair<double, double>> points;  // minibatches and their steps
  SlopeOfSteps result{.first = answer.best.front().minibatch};
  for (const BestResult& one : answer.best) {
    if (static_cast<double>(one.minibatch) > last) break;
    points.emplace_back(static_cast<double>(one.minibatch), one.steps);
    result.last = one.minibatch;
  }
  if (points.size() < kFewest) return std::nullopt;
  const PowerLaw law = *fit_power_law(points);
  result.minibatches = points.size();
  result.slope = law.exponent;
  result.standard_error = law.standard_error;
  return result;
}

void add_slopes_of_ranges(StudyAnswer& answer) {
  std::vector<double> ends = {static_cast<double>(answer.best.back().minibatch)};
  if (answer.fit) ends.insert(ends.begin(), told_about(answer.fit->answer.perfect_end).low);
  for (const double end : ends)
    if (const auto slope = slope_up_to(answer, end);
        slope && (answer.slopes_of_ranges.empty() || answer.slopes_of_ranges.back().last != slope->last))
      answer.slopes_of_ranges.push_back(*slope);
}

void add_steps(StudyAnswer& answer) {
  answer.measured = pooled_steps(answer.runs_at_best());
  for (size_t i = 0; i < answer.best.size(); ++i) {
    BestResult& one = answer.best[i];
    one.steps = answer.measured.means[i].steps;
    one.interval = answer.measured.means[i].interval;
    one.samples = one.steps * static_cast<double>(one.minibatch);
    const auto at = std::find_if(answer.all.begin(), answer.all.end(),
                                 [&](const MinibatchResults& other) { return other.minibatch == one.minibatch; });
    one.rate_interval = rate_interval(*at, one.best, answer.measured);
    if (i == 0) continue;
    const BestResult& before = answer.best[i - 1];
    answer.slopes.push_back(std::log(one.steps / before.steps) /
                            std::log(static_cast<double>(one.minibatch) / static_cast<double>(before.minibatch)));
  }
}

size_t place_of_base(const StudyAnswer& answer, std::optional<int64_t> minibatch) {
  if (!minibatch) return 0;
  std::vector<int64_t> known;
  for (const BestResult& one : answer.best) known.push_back(one.minibatch);
  const auto at = std::find(known.begin(), known.end(), *minibatch);
  if (at != known.end()) return static_cast<size_t>(at - known.begin());
  throw Error(fmt::format("base minibatch: expected one that reached the target: {}; got {}", fmt::join(known, ", "),
                          *minibatch));
}

void measure_against(const BestResult base, std::vector<BestResult>& all) {
  for (BestResult& one : all) {
    one.efficiency = base.samples / one.samples;
    if (!base.best.rate) continue;
    one.linear_rate = ReferenceRate{*base.best.rate, base.minibatch, "linear"}.at(one.minibatch);
    one.square_root_rate = ReferenceRate{*base.best.rate, base.minibatch, "sqrt"}.at(one.minibatch);
  }
}

void add_fit(StudyAnswer& answer) {
  if (answer.best.size() < kLeastMinibatches) {
    answer.no_fit = fmt::format("a fit takes {} minibatches or more that reach the target, here are {}",
                                kLeastMinibatches, answer.best.size());
    return;
  }
  answer.fit = fit_critical_batch(answer.measured.means);
  answer.line = fit_linear_batch(answer.measured.means);
}

void add_contradictions(StudyAnswer& answer) {
  if (!answer.fit) return;
  std::vector<LeastSteps> missed;
  for (const MissedResult& one : answer.missed)
    if (one.least_steps) missed.push_back({one.minibatch, *one.least_steps});
  answer.contradicted = contradictions(answer.measured, answer.fit->answer, missed);
  if (!answer.is_contradicted_beyond()) return;
  withhold_beyond(answer.measured.means.back(), answer.fit->answer);
  if (answer.fit->of_one) withhold_beyond(answer.measured.means.back(), *answer.fit->of_one);
}

void add_cost(StudyAnswer& answer, ScaleForecast forecast) {
  if (!answer.fit) throw Error("--cluster: steps at a cluster's minibatches follow from the fit; " + answer.no_fit);
  const auto last = static_cast<double>(answer.best.back().minibatch);
  if (answer.is_contradicted_beyond()) {
    std::erase_if(forecast.rows, [&](const ScaleRow& row) { return row.minibatch > last; });
    if (forecast.rows.empty())
      throw Error(
          fmt::format("--cluster: expected a minibatch of {} or less, beyond which runs contradict the fit, got "
                      "larger ones alone",
                      last));
  }
  answer.cluster =
      target_cost(answer.fit->answer.law(), forecast, {static_cast<double>(answer.best.front().minibatch), last});
}

}  // namespace

std::vector<Contradiction> contradictions(const PooledSteps& measured, const ScalingFit& fit,
                                          std::span<const LeastSteps> missed) {
  constexpr double kTail = 0.025;
  std::vector<double> minibatches;
  for (const LeastSteps& one : missed) minibatches.push_back(static_cast<double>(one.minibatch));
  if (minibatches.empty()) return {};
  const std::vector<ConfidenceInterval> band = steps_band(measured.means, minibatches);
  const auto of_run = [&](double minibatch) {
    if (!measured.scatter) return 0.0;
    const auto [deviation, degrees] = measured.scatter->at(minibatch);
    return student_t(kTail, degrees) * deviation;
  };
  std::vector<Contradiction> found;
  for (size_t i = 0; i < missed.size(); ++i) {
    const double fitted = fit.steps_at(minibatches[i]);
    const double above = std::hypot(std::log(band[i].high / fitted), of_run(minibatches[i]));
    if (missed[i].steps > fitted * std::exp(above)) found.push_back({missed[i], fitted});
  }
  return found;
}

void withhold_beyond(const MeanSteps& last, ScalingFit& fit) {
  const auto minibatch = static_cast<double>(last.minibatch);
  bool is_beyond = false;
  for (Estimate* place : {&fit.b_crit, &fit.perfect_end, &fit.gain_end}) {
    ConfidenceInterval& interval = place->interval;
    if (interval.high <= minibatch) continue;
    interval = {std::min(interval.low, minibatch), std::numeric_limits<double>::infinity()};
    is_beyond = true;
  }
  if (!is_beyond) return;
  const double steps = last.interval ? last.interval->high : last.steps;
  fit.s_min.interval.high = std::max(fit.s_min.interval.high, steps);
}

std::vector<StepsToTarget> StudyAnswer::runs_at_best() const {
  std::vector<StepsToTarget> runs;
  for (const BestResult& one : best) runs.push_back(one.best.steps_to_target(one.minibatch));
  return runs;
}

std::optional<ScalingRegion> StudyAnswer::region_of(const BestResult& one) const {
  if (!fit) return std::nullopt;
  return region_at(fit->answer, static_cast<double>(one.minibatch));
}

StudyAnswer answer_or_missed(std::span<const Measurement> runs, const AnswerOptions& options) {
  StudyAnswer answer;
  answer.noise = options.noise;
  answer.all = results_by_minibatch(runs);
  const std::vector<std::optional<BestRate>> best = best_rates(answer.all);
  for (size_t i = 0; i < best.size(); ++i) {
    if (const MinibatchResults& at = answer.all[i]; best[i])
      answer.best.push_back(best_result(at, *best[i]));
    else
      answer.missed.push_back(missed_result(at));
  }
  if (answer.best.empty()) {
    answer.no_fit = "no minibatch reached the target in more than half of the runs of a rate";
    return answer;
  }
  add_steps(answer);
  add_fit(answer);
  add_contradictions(answer);
  add_slopes_of_ranges(answer);
  answer.base = place_of_base(answer, options.base_minibatch);
  measure_against(answer.base_result(), answer.best);
  if (options.forecast) add_cost(answer, *options.forecast);
  return answer;
}

StudyAnswer answer_study(std::span<const Measurement> runs, const AnswerOptions& options) {
  StudyAnswer answer = answer_or_missed(runs, options);
  if (!answer.best.empty()) return answer;
  const auto diverged = std::ranges::count_if(runs, &Measurement::diverged);
  throw Error(
      fmt::format("expected a minibatch at which more than half of the runs of a rate reach the target, got "
                  "none of {}, in {} runs, of which {} diverged",
                  answer.all.size(), runs.size(), diverged == std::ssize(runs) ? "all" : fmt::to_string(diverged)));
}

}  // namespace kb
