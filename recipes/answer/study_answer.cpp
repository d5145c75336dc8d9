#include "recipes/answer/study_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>

#include "graph/error.h"
#include "optim/distributions.h"
#include "optim/power_law.h"
#include "optim/scaling.h"
#include "recipes/trials/statistics.h"

namespace kb {
namespace {

RateResult rate_result(const RateSetting& at, const std::vector<const Measurement*>& runs) {
  RateResult result;
  result.rate = at.first;
  result.setting = at.second;
  result.runs = runs.size();
  result.policy = runs.front()->policy;
  std::vector<double> seconds;
  for (const Measurement* run : runs) {
    result.seeds.push_back({run->seed, run->steps, run->diverged, run->hopeless, run->clock_s, run->sent_bytes});
    result.diverged += run->diverged;
    result.hopeless += run->hopeless;
    if (!run->steps && !run->diverged && run->samples)
      result.given_up.push_back(*run->samples / static_cast<double>(run->minibatch));
    if (!run->steps) continue;
    result.steps.push_back(*run->steps);
    if (run->seconds) seconds.push_back(*run->seconds);
  }
  if (!seconds.empty() && seconds.size() == result.steps.size()) result.seconds = mean_of(seconds)->mean;
  return result;
}

std::set<int64_t> seeds_of(const RateResult& one) {
  std::set<int64_t> seeds;
  for (const SeedResult& run : one.seeds)
    if (run.seed) seeds.insert(*run.seed);
  return seeds;
}

std::vector<MinibatchResults> results_by_minibatch(std::span<const Measurement> runs) {
  std::map<int64_t, std::map<RateSetting, std::vector<const Measurement*>>> groups;
  for (const Measurement& run : runs) groups[run.minibatch][{run.rate, run.setting}].push_back(&run);
  std::vector<MinibatchResults> results;
  for (const auto& [minibatch, rates] : groups) {
    results.push_back({minibatch});
    for (const auto& [at, group] : rates) results.back().rates.push_back(rate_result(at, group));
  }
  return results;
}

// Returns the best rate of a minibatch; null if the target was not reached.
const RateResult* best_rate(const MinibatchResults& at) {
  const MinibatchResults alike = of_common_seeds(at);
  const auto counts = [&](size_t i) {
    return 2 * alike.rates[i].steps.size() > alike.rates[i].runs && 2 * at.rates[i].diverged <= at.rates[i].runs;
  };
  size_t most = 0;
  for (size_t i = 0; i < alike.rates.size(); ++i)
    if (counts(i)) most = std::max(most, alike.rates[i].steps.size());
  std::optional<size_t> best;
  const auto is_better = [&](size_t i) {
    const double steps = alike.rates[i].mean_steps(), least = alike.rates[*best].mean_steps();
    return steps < least || (steps == least && at.rates[i].runs > at.rates[*best].runs);
  };
  for (size_t i = 0; i < alike.rates.size(); ++i)
    if (counts(i) && 2 * alike.rates[i].steps.size() > most && (!best || is_better(i))) best = i;
  return best ? &at.rates[*best] : nullptr;
}

std::optional<double> diverged_from(const std::vector<RateResult>& rates, const RateResult& best) {
  for (const RateResult& one : rates)
    if (one.rate && best.rate && *one.rate > *best.rate && one.diverged > 0) return one.rate;
  return std::nullopt;
}

// Returns the momentum of a setting such as "momentum=0.95 weight-decay=0.0001"; nothing if it was not searched.
std::optional<double> momentum_of(const std::string& setting) {
  constexpr std::string_view kName = "momentum=";
  const size_t at = setting.starts_with(kName) ? 0 : setting.find(fmt::format(" {}", kName));
  if (at == std::string::npos) return std::nullopt;
  const char* begin = setting.data() + at + kName.size() + (at > 0 ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(begin, setting.data() + setting.size(), value);
  return error == std::errc() && value >= 0 && value < 1 ? std::optional(value) : std::nullopt;
}

BestResult best_result(const MinibatchResults& at, const RateResult& best) {
  BestResult result;
  result.minibatch = at.minibatch;
  result.best = best;
  const bool has_several = at.rates.front().rate != at.rates.back().rate;
  result.is_least = has_several && best.rate == at.rates.front().rate;
  result.is_greatest = has_several && best.rate == at.rates.back().rate;
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
    if (one.given_up.empty()) continue;
    const double steps = *std::max_element(one.given_up.begin(), one.given_up.end());
    missed.least_steps = std::min(missed.least_steps.value_or(steps), steps);
  }
  return missed;
}

// Returns, by rate, the fewest mean steps over the settings, for runs under the seeds that all rates have; infinity if
// the target was not reached.
std::map<double, double> steps_by_rate(const MinibatchResults& alike) {
  std::map<double, double> steps;
  for (const RateResult& one : alike.rates) {
    if (!one.rate) continue;
    double& least = steps.try_emplace(*one.rate, std::numeric_limits<double>::infinity()).first->second;
    if (!one.steps.empty()) least = std::min(least, one.mean_steps());
  }
  return steps;
}

void add_rate_interval(BestResult& one, const std::vector<MinibatchResults>& all, const PooledSteps& pooled) {
  constexpr double kTail = 0.025;
  if (pooled.degrees == 0 || !one.best.rate) return;
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const MinibatchResults& other) { return other.minibatch == one.minibatch; });
  const MinibatchResults alike = of_common_seeds(*at);
  const std::map<double, double> steps = steps_by_rate(alike);
  if (steps.size() < 2) return;
  const auto seeds = static_cast<double>(std::max<size_t>(1, common_seeds(*at).size()));
  const double told = student_t(kTail, static_cast<double>(pooled.degrees)) * pooled.deviation * std::sqrt(2 / seeds);
  const auto best = steps.find(*one.best.rate);
  const auto is_alike = [&](const auto& rate) { return std::log(rate.second / best->second) <= told; };
  auto low = best, high = best;
  while (low != steps.begin() && is_alike(*std::prev(low))) --low;
  while (std::next(high) != steps.end() && is_alike(*std::next(high))) ++high;
  one.rate_interval =
      ConfidenceInterval{low == steps.begin() ? 0 : low->first,
                         std::next(high) == steps.end() ? std::numeric_limits<double>::infinity() : high->first};
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
  if (answer.fit) ends.insert(ends.begin(), answer.fit->answer.perfect_end.value);
  for (const double end : ends)
    if (const auto slope = slope_up_to(answer, end);
        slope && (answer.slopes_of_ranges.empty() || answer.slopes_of_ranges.back().last != slope->last))
      answer.slopes_of_ranges.push_back(*slope);
}

void add_steps(StudyAnswer& answer) {
  std::vector<StepsToTarget> runs;
  for (const BestResult& one : answer.best) runs.push_back({one.minibatch, one.best.steps, one.best.given_up});
  const PooledSteps pooled = pooled_steps(runs);
  answer.measured = pooled.means;
  for (size_t i = 0; i < answer.best.size(); ++i) {
    BestResult& one = answer.best[i];
    one.steps = answer.measured[i].steps;
    one.interval = answer.measured[i].interval;
    one.samples = one.steps * static_cast<double>(one.minibatch);
    add_rate_interval(one, answer.all, pooled);
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
  answer.fit = fit_critical_batch(answer.measured);
  answer.line = fit_linear_batch(answer.measured);
}

void add_cost(StudyAnswer& answer, const ScaleForecast& forecast) {
  if (!answer.fit) throw Error("--cluster: steps at a cluster's minibatches follow from the fit; " + answer.no_fit);
  answer.cluster = target_cost(
      answer.fit->answer.law(), forecast,
      {static_cast<double>(answer.best.front().minibatch), static_cast<double>(answer.best.back().minibatch)});
}

}  // namespace

std::set<int64_t> common_seeds(const MinibatchResults& at) {
  std::optional<std::set<int64_t>> common;
  for (const RateResult& one : at.rates) {
    std::set<int64_t> seeds = seeds_of(one);
    if (common) std::erase_if(seeds, [&](int64_t seed) { return !common->contains(seed); });
    common = std::move(seeds);
  }
  return common.value_or(std::set<int64_t>());
}

MinibatchResults of_common_seeds(MinibatchResults at) {
  const std::set<int64_t> common = common_seeds(at);
  if (common.empty()) return at;
  for (RateResult& one : at.rates) {
    std::erase_if(one.seeds, [&](const SeedResult& run) { return !run.seed || !common.contains(*run.seed); });
    one.steps.clear();
    one.given_up.clear();  // steps of single runs are not compared
    one.runs = one.seeds.size();
    one.diverged = one.hopeless = 0;
    for (const SeedResult& run : one.seeds) {
      one.diverged += run.diverged;
      one.hopeless += run.hopeless;
      if (run.steps) one.steps.push_back(*run.steps);
    }
  }
  return at;
}

std::optional<ScalingRegion> StudyAnswer::region_of(const BestResult& one) const {
  if (!fit) return std::nullopt;
  return region_at(fit->answer, static_cast<double>(one.minibatch));
}

StudyAnswer answer_or_missed(std::span<const Measurement> runs, const AnswerOptions& options) {
  StudyAnswer answer;
  answer.noise = options.noise;
  answer.all = results_by_minibatch(runs);
  for (const MinibatchResults& at : answer.all) {
    if (const RateResult* best = best_rate(at))
      answer.best.push_back(best_result(at, *best));
    else
      answer.missed.push_back(missed_result(at));
  }
  if (answer.best.empty()) {
    answer.no_fit = "no minibatch reached the target in more than half of the runs of a rate";
    return answer;
  }
  add_steps(answer);
  add_fit(answer);
  add_slopes_of_ranges(answer);
  answer.base = place_of_base(answer, options.base_minibatch);
  measure_against(answer.base_result(), answer.best);
  if (options.forecast) add_cost(answer, *options.forecast);
  return answer;
}

std::optional<StudyAnswer> answer_if_reached(std::span<const Measurement> runs, const AnswerOptions& options) {
  StudyAnswer answer = answer_or_missed(runs, options);
  return answer.best.empty() ? std::nullopt : std::optional(std::move(answer));
}

StudyAnswer answer_study(std::span<const Measurement> runs, const AnswerOptions& options) {
  if (std::optional<StudyAnswer> answer = answer_if_reached(runs, options)) return *std::move(answer);
  throw Error(
      fmt::format("expected a minibatch at which more than half of the runs of a rate reach the target, got "
                  "none of {}, in {} runs",
                  results_by_minibatch(runs).size(), runs.size()));
}

}  // namespace kb
