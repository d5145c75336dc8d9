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

std::string trials_table(const ClusterCost& cost) {
  std::string text = fmt::format("{:>7}  {:>20}  {:>22}  {:>8}  {:>8}\n", "workers", "trials/h, one by one",
                                 "trials/h, side by side", "sooner", "more");
  for (const TrialRates& row : trial_rates(cost))
    text += fmt::format("{:>7}  {:>20.4g}  {:>22.4g}  {:>7.3g}x  {:>7.3g}x\n", row.workers, row.one_by_one,
                        row.side_by_side, row.sooner(), row.more());
  return text;
}

std::string trials_sentence(const ClusterCost& cost) {
  const std::vector<TrialRates> rates = trial_rates(cost);
  const TrialRates& at = cost.fastest > 0 ? rates[cost.fastest] : rates.back();
  return fmt::format(
      "On {0} workers one trial ends {1:.3g} times sooner than on one of them (sooner); {0} trials side by side, with "
      "one worker and minibatch {2} each, are {3:.3g} times as many an hour as one after another on all {0} (more).{4}",
      at.workers, at.sooner(), count_text(cost.rows.front().at.minibatch), at.more(),
      cost.rows.front().is_measured ? "" : " That minibatch is none that was measured.");
}

}  // namespace kb
