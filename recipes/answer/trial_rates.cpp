#include "recipes/answer/trial_rates.h"

#include <fmt/format.h>

#include "recipes/report/count_text.h"

namespace kb {

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
