#include "recipes/answer/target_cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "recipes/report/count_text.h"

namespace kb {
namespace {

size_t last_that_pays(const std::vector<TargetCost>& rows) {
  size_t last = 0;
  while (last + 1 < rows.size() && rows[last + 1].seconds <= (1 - kPayingSaving) * rows[last].seconds) ++last;
  return last;
}

}  // namespace

ClusterCost target_cost(const ScalingLaw& law, const ScaleForecast& forecast, std::pair<double, double> measured) {
  ClusterCost cost{forecast.title, forecast.nodes, forecast.policy, {}};
  for (const ScaleRow& row : forecast.rows) {
    const double steps = law.steps_at(row.minibatch);
    const bool is_measured = row.minibatch >= measured.first && row.minibatch <= measured.second;
    cost.rows.push_back({row, steps, steps * row.minibatch, steps * row.step, is_measured});
  }
  const auto fewer = [](const TargetCost& a, const TargetCost& b) { return a.seconds < b.seconds; };
  cost.fastest = static_cast<size_t>(std::min_element(cost.rows.begin(), cost.rows.end(), fewer) - cost.rows.begin());
  cost.paying = last_that_pays(cost.rows);
  return cost;
}

std::string cost_table(const ClusterCost& cost) {
  std::string text = fmt::format("{:>7}  {:>9}  {:>7}  {:>8}  {:>9}  {:>10}  {:>12}\n", "workers", "minibatch", "steps",
                                 "samples", "step", "time", "worker hours");
  for (const TargetCost& row : cost.rows)
    text += fmt::format("{:>7}  {:>8}{}  {:>7}  {:>8}  {:>6.3g} ms  {:>10}  {:>12.3g}\n", row.at.workers,
                        count_text(row.at.minibatch), row.is_measured ? " " : "*", count_text(row.steps),
                        count_text(row.samples), 1e3 * row.at.step, duration_text(row.seconds),
                        row.at.workers * row.seconds / 3600);
  return text;
}

std::string cost_sentence(const ClusterCost& cost) {
  const TargetCost &fastest = cost.rows[cost.fastest], &paying = cost.rows[cost.paying];
  const bool any_beyond =
      std::any_of(cost.rows.begin(), cost.rows.end(), [](const TargetCost& row) { return !row.is_measured; });
  return fmt::format(
      "The target takes the least time, {}, on {} worker{} (minibatch {}); each doubling of the workers up to {} saves "
      "{:.0f} % of the time or more.{}{}",
      duration_text(fastest.seconds), fastest.at.workers, fastest.at.workers == 1 ? "" : "s",
      count_text(fastest.at.minibatch), paying.at.workers, 100 * kPayingSaving,
      any_beyond ? " Minibatches with a * are none that were measured: their steps follow from the fit alone." : "",
      cost.policy == kSynchronous
          ? ""
          : fmt::format(" A step takes its time by {}: the runs that were fitted should have been trained so.",
                        cost.policy));
}

std::vector<TrialRates> trial_rates(const ClusterCost& cost) {
  constexpr double kHour = 3600;
  std::vector<TrialRates> rates;
  for (const TargetCost& row : cost.rows)
    rates.push_back(
        {row.at.workers, kHour / row.seconds, kHour * row.at.workers / (cost.rows.front().steps * row.at.compute)});
  return rates;
}

std::string rate_text(double value) {
  constexpr double kWhole = 1000;  // values from here on have no decimals
  return value < kWhole ? fmt::format("{:.3g}", value) : count_text(value);
}

std::string trials_table(const ClusterCost& cost) {
  std::string text = fmt::format("{:>7}  {:>20}  {:>22}  {:>8}  {:>8}\n", "workers", "trials/h, one by one",
                                 "trials/h, side by side", "sooner", "more");
  for (const TrialRates& row : trial_rates(cost))
    text += fmt::format("{:>7}  {:>20}  {:>22}  {:>7}x  {:>7}x\n", row.workers, rate_text(row.one_by_one),
                        rate_text(row.side_by_side), rate_text(row.sooner()), rate_text(row.more()));
  return text;
}

std::string trials_sentence(const ClusterCost& cost) {
  const std::vector<TrialRates> rates = trial_rates(cost);
  const TrialRates& at = cost.fastest > 0 ? rates[cost.fastest] : rates.back();
  return fmt::format(
      "On {0} workers one trial ends {1} times sooner than on one of them (sooner); {0} trials side by side, with "
      "one worker and minibatch {2} each, are {3} times as many an hour as one after another on all {0} (more).{4}",
      at.workers, rate_text(at.sooner()), count_text(cost.rows.front().at.minibatch), rate_text(at.more()),
      cost.rows.front().is_measured ? "" : " That minibatch is none that was measured.");
}

}  // namespace kb
