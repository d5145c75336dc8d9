#include "recipes/answer/rate_results.h"

#include <algorithm>
#include <map>
#include <utility>

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
    std::optional<double> given_up;
    if (!run->steps && !run->diverged && run->samples) given_up = *run->samples / static_cast<double>(run->minibatch);
    result.seeds.push_back(
        {run->seed, run->crossing(), given_up, run->diverged, run->hopeless, run->clock_s, run->sent_bytes});
    result.diverged += run->diverged;
    result.hopeless += run->hopeless;
    if (given_up) result.given_up.push_back(*given_up);
    if (!run->steps) continue;
    result.steps.push_back(*run->crossing());
    result.eval_every = std::max(result.eval_every, run->eval_every.value_or(0));
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

}  // namespace

double RateResult::mean_steps() const {
  std::vector<double> all = steps;
  all.insert(all.end(), given_up.begin(), given_up.end());
  return geometric_mean(all);
}

StepsToTarget RateResult::steps_to_target(int64_t minibatch) const {
  return {minibatch, steps, given_up, steps.empty() ? 0 : eval_every / geometric_mean(steps)};
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
    one.given_up.clear();
    one.runs = one.seeds.size();
    one.diverged = one.hopeless = 0;
    for (const SeedResult& run : one.seeds) {
      one.diverged += run.diverged;
      one.hopeless += run.hopeless;
      if (run.steps) one.steps.push_back(*run.steps);
      if (run.given_up) one.given_up.push_back(*run.given_up);
    }
  }
  return at;
}

}  // namespace kb
