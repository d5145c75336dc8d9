#include "recipes/answer/best_rates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "optim/distributions.h"
#include "recipes/trials/statistics.h"

namespace kb {
namespace {

// Sets what is counted over the runs.
void count_runs(RateResult& result) {
  result.steps.clear();
  result.given_up.clear();
  result.runs = result.seeds.size();
  result.diverged = result.hopeless = 0;
  for (const Measurement& run : result.seeds) {
    result.diverged += run.diverged;
    result.hopeless += run.hopeless;
    if (run.steps) result.steps.push_back(*run.crossing());
    if (const std::optional<double> steps = run.given_up()) result.given_up.push_back(*steps);
  }
}

RateResult rate_result(const RateSetting& at, const std::vector<Measurement>& runs) {
  RateResult result;
  result.rate = at.first;
  result.setting = at.second;
  result.policy = runs.front().policy;
  result.seeds = runs;
  count_runs(result);
  std::vector<double> seconds;
  for (const Measurement& run : runs) {
    if (!run.steps) continue;
    result.eval_every = std::max(result.eval_every, run.eval_every.value_or(0));
    if (run.seconds) seconds.push_back(*run.seconds);
  }
  if (!seconds.empty() && seconds.size() == result.steps.size()) result.seconds = mean_of(seconds)->mean;
  return result;
}

std::set<int64_t> seeds_of(const RateResult& one) {
  std::set<int64_t> seeds;
  for (const Measurement& run : one.seeds)
    if (run.seed) seeds.insert(*run.seed);
  return seeds;
}

constexpr double kNever = std::numeric_limits<double>::infinity();

// Holds the rates of a minibatch as they are compared.
class ComparedRates {
 public:
  explicit ComparedRates(const MinibatchResults& at) : all_(at), alike_(of_common_seeds(at)) {
    size_t most = 0;
    for (size_t i = 0; i < alike_.rates.size(); ++i)
      if (may_count(i)) most = std::max(most, alike_.rates[i].steps.size());
    for (size_t i = 0; i < alike_.rates.size(); ++i)
      counts_.push_back(may_count(i) && 2 * alike_.rates[i].steps.size() > most);
  }

  // Returns the mean steps of a rate; infinity if it does not count.
  double steps(size_t i, double deviation) const {
    return counts_[i] ? censored_mean(alike_.rates[i].steps_to_target(alike_.minibatch), deviation) : kNever;
  }

  // Returns the least mean steps that a rate may have: a run that was given up may have reached the target right then.
  // Infinity if most runs diverged, or if none reached the target and no steps are known.
  double least_steps(size_t i, double deviation) const {
    const RateResult& one = alike_.rates[i];
    if (counts_[i]) return steps(i, deviation);
    const bool is_known = !one.given_up.empty() || !one.steps.empty();
    return is_known && mostly_trains(i) ? one.mean_steps() : kNever;
  }

  std::optional<BestRate> best(double deviation) const {
    std::vector<size_t> tied = with_fewest_steps(deviation);
    if (tied.empty()) return std::nullopt;
    const bool is_tied = all_.rates[tied.front()].rate != all_.rates[tied.back()].rate;
    size_t most = 0;
    for (const size_t i : tied) most = std::max(most, all_.rates[i].runs);
    std::erase_if(tied, [&](size_t i) { return all_.rates[i].runs < most; });
    return BestRate{tied[(tied.size() - 1) / 2], is_tied};
  }

 private:
  bool mostly_trains(size_t i) const { return 2 * all_.rates[i].diverged <= all_.rates[i].runs; }
  bool may_count(size_t i) const { return 2 * alike_.rates[i].steps.size() > alike_.rates[i].runs && mostly_trains(i); }

  // Returns the rates that count and have the fewest mean steps, to within rounding.
  std::vector<size_t> with_fewest_steps(double deviation) const {
    constexpr double kRounding = 1e-9;
    std::vector<double> here;
    for (size_t i = 0; i < counts_.size(); ++i) here.push_back(steps(i, deviation));
    const double least = *std::min_element(here.begin(), here.end());
    std::vector<size_t> found;
    for (size_t i = 0; i < here.size(); ++i)
      if (counts_[i] && here[i] <= least * (1 + kRounding)) found.push_back(i);
    return found;
  }

  const MinibatchResults& all_;
  const MinibatchResults alike_;
  std::vector<bool> counts_;
};

// Returns the mean steps of the runs at these rates, with their sigma.
PooledSteps steps_at(std::span<const MinibatchResults> all, const std::vector<std::optional<BestRate>>& best) {
  std::vector<StepsToTarget> runs;
  for (size_t i = 0; i < all.size(); ++i)
    if (best[i]) runs.push_back(all[i].rates[best[i]->place].steps_to_target(all[i].minibatch));
  return pooled_steps(runs);
}

// Returns, by rate, the least mean steps over the settings.
std::map<double, double> least_steps_by_rate(const MinibatchResults& at, double deviation) {
  const ComparedRates compared(at);
  std::map<double, double> steps;
  for (size_t i = 0; i < at.rates.size(); ++i) {
    if (!at.rates[i].rate) continue;
    double& least = steps.try_emplace(*at.rates[i].rate, kNever).first->second;
    least = std::min(least, compared.least_steps(i, deviation));
  }
  return steps;
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
  std::map<int64_t, std::map<RateSetting, std::vector<Measurement>>> groups;
  for (const Measurement& run : runs) groups[run.minibatch][{run.rate, run.setting}].push_back(run);
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
    std::erase_if(one.seeds, [&](const Measurement& run) { return !run.seed || !common.contains(*run.seed); });
    count_runs(one);
  }
  return at;
}

std::vector<std::optional<BestRate>> best_rates(std::span<const MinibatchResults> all) {
  constexpr int kMostRounds = 10;  // another sigma may change a choice, and another choice sigma
  const std::vector<ComparedRates> compared(all.begin(), all.end());
  std::vector<std::optional<BestRate>> best(all.size());
  for (int round = 0; round < kMostRounds; ++round) {
    const PooledSteps pooled = steps_at(all, best);
    std::vector<std::optional<BestRate>> next;
    for (size_t i = 0; i < all.size(); ++i) next.push_back(compared[i].best(pooled.deviation_at(all[i].minibatch)));
    if (next == best) break;
    best = std::move(next);
  }
  return best;
}

std::vector<double> compared_steps(const MinibatchResults& at, double deviation) {
  const ComparedRates compared(at);
  std::vector<double> steps;
  for (size_t i = 0; i < at.rates.size(); ++i) steps.push_back(compared.steps(i, deviation));
  return steps;
}

std::optional<ConfidenceInterval> rate_interval(const MinibatchResults& at, const RateResult& best,
                                                const PooledSteps& pooled) {
  constexpr double kTail = 0.025;
  if (!pooled.scatter || !best.rate) return std::nullopt;
  const auto [deviation, degrees] = pooled.scatter->at(static_cast<double>(at.minibatch));
  const std::map<double, double> steps = least_steps_by_rate(at, deviation);
  if (steps.size() < 2) return std::nullopt;
  const auto seeds = static_cast<double>(std::max<size_t>(1, common_seeds(at).size()));
  const double told = student_t(kTail, degrees) * deviation * std::sqrt(2 / seeds);
  const double here = steps.at(*best.rate);
  const auto is_alike = [&](const auto& rate) { return std::log(rate.second / here) <= told; };
  const auto low = std::find_if(steps.begin(), steps.end(), is_alike);
  const auto high = std::find_if(steps.rbegin(), steps.rend(), is_alike);
  return ConfidenceInterval{low == steps.begin() ? 0 : low->first, high == steps.rbegin() ? kNever : high->first};
}

}  // namespace kb
