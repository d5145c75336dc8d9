#include "recipes/answer/study_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/error.h"
#include "optim/scaling.h"
#include "recipes/trials/statistics.h"

namespace kb {
namespace {

RateResult rate_result(const RateSetting& at, const std::vector<const Measurement*>& runs) {
  RateResult result{at.first, at.second, {}, runs.size(), 0, {}, {}};
  std::vector<double> seconds;
  for (const Measurement* run : runs) {
    result.seeds.push_back({run->seed, run->steps, run->diverged});
    result.diverged += run->diverged;
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

// Null where the target was not reached.
const RateResult* best_rate(const std::vector<RateResult>& rates) {
  const auto counts = [](const RateResult& one) { return 2 * one.steps.size() > one.runs; };
  size_t most = 0;
  for (const RateResult& one : rates)
    if (counts(one)) most = std::max(most, one.steps.size());
  const RateResult* best = nullptr;
  for (const RateResult& one : rates)
    if (counts(one) && 2 * one.steps.size() > most && (!best || one.mean_steps() < best->mean_steps())) best = &one;
  return best;
}

// Null where the target was not reached.
const RateResult* best_rate(const MinibatchResults& at, const std::map<int64_t, RateSetting>& known) {
  const auto best = known.find(at.minibatch);
  if (best == known.end()) return best_rate(at.rates);
  for (const RateResult& one : at.rates)
    if (RateSetting{one.rate, one.setting} == best->second && !one.steps.empty()) return &one;
  return nullptr;
}

std::optional<double> diverged_from(const std::vector<RateResult>& rates, const RateResult& best) {
  for (const RateResult& one : rates)
    if (one.rate && best.rate && *one.rate > *best.rate && one.diverged > 0) return one.rate;
  return std::nullopt;
}

BestResult best_result(const MinibatchResults& at, const RateResult& best, const Resampling& resampling) {
  BestResult result;
  result.minibatch = at.minibatch;
  result.best = best;
  const bool has_several = at.rates.front().rate != at.rates.back().rate;
  result.is_least = has_several && best.rate == at.rates.front().rate;
  result.is_greatest = has_several && best.rate == at.rates.back().rate;
  result.diverged_from = diverged_from(at.rates, best);
  result.steps = best.mean_steps();
  result.samples = result.steps * static_cast<double>(at.minibatch);
  result.interval = interval_of_mean({at.minibatch, best.steps}, resampling);
  return result;
}

void measure_against(const BestResult base, std::vector<BestResult>& all) {
  for (BestResult& one : all) {
    one.efficiency = base.samples / one.samples;
    if (!base.best.rate) continue;
    one.linear_rate = ReferenceRate{*base.best.rate, base.minibatch, "linear"}.at(one.minibatch);
    one.square_root_rate = ReferenceRate{*base.best.rate, base.minibatch, "sqrt"}.at(one.minibatch);
  }
}

ScalingRegions regions_of(const StudyAnswer& answer, std::optional<int64_t> base) {
  std::vector<MinibatchSteps> measured;
  for (const BestResult& one : answer.best) measured.push_back({one.minibatch, one.steps});
  return scaling_regions(measured, base.value_or(answer.best.front().minibatch),
                         answer.fit ? std::optional(answer.fit->b_crit.value) : std::nullopt);
}

void add_fit(StudyAnswer& answer, const Resampling& resampling) {
  if (answer.best.size() < kLeastMinibatches) {
    answer.no_fit = fmt::format("a fit takes {} minibatches or more that reach the target, here are {}",
                                kLeastMinibatches, answer.best.size());
    return;
  }
  std::vector<StepsToTarget> measured;
  for (const BestResult& one : answer.best) measured.push_back({one.minibatch, one.best.steps});
  answer.fit = fit_critical_batch(measured, resampling);
  answer.line = fit_linear_batch(measured);
}

void add_cost(StudyAnswer& answer, const ScaleForecast& forecast) {
  if (!answer.fit) throw Error("--cluster: steps at a cluster's minibatches follow from the fit; " + answer.no_fit);
  answer.cluster = target_cost(
      *answer.fit, forecast,
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
    one.runs = one.seeds.size();
    one.diverged = 0;
    for (const SeedResult& run : one.seeds) {
      one.diverged += run.diverged;
      if (run.steps) one.steps.push_back(*run.steps);
    }
  }
  return at;
}

StudyAnswer answer_study(std::span<const Measurement> runs, const AnswerOptions& options) {
  StudyAnswer answer;
  answer.all = results_by_minibatch(runs);
  for (const MinibatchResults& at : answer.all) {
    if (const RateResult* best = best_rate(at, options.best))
      answer.best.push_back(best_result(at, *best, options.resampling));
    else
      answer.not_reached.push_back(at.minibatch);
  }
  if (answer.best.empty())
    throw Error(
        fmt::format("expected a minibatch at which more than half of the runs of a rate reach the target, got "
                    "none of {}, in {} runs",
                    answer.all.size(), runs.size()));
  add_fit(answer, options.resampling);
  answer.regions = regions_of(answer, options.base_minibatch);
  measure_against(answer.base(), answer.best);
  if (options.forecast) add_cost(answer, *options.forecast);
  return answer;
}

}  // namespace kb
