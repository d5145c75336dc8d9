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

}  // namespace kb
