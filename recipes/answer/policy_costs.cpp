#include "recipes/answer/policy_costs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "recipes/answer/answer_text.h"
#include "recipes/inspect/scaling.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/report/count_text.h"
#include "recipes/report/html_page.h"
#include "recipes/report/svg.h"
#include "recipes/trials/statistics.h"

namespace kb {
namespace {

// Clocks of a minibatch's runs, in units in which the mean is that of the steps, so that pooled_steps() takes one unit
// as the resolution of both.
struct ScaledClocks {
  StepsToTarget clocks;
  double seconds = 1;  // seconds of a unit
};

std::optional<ScaledClocks> scaled_clocks(const BestResult& one) {
  ScaledClocks scaled{{.minibatch = one.minibatch}};
  scaled.clocks.resolution = one.best.steps_to_target(one.minibatch).resolution;
  for (const Measurement& run : one.best.seeds) {
    if (!run.steps && (run.diverged || !run.clock_s)) continue;
    if (!run.clock_s || !(*run.clock_s > 0)) return std::nullopt;
    (run.steps ? scaled.clocks.steps : scaled.clocks.given_up).push_back(*run.clock_s);
  }
  if (scaled.clocks.steps.empty()) return std::nullopt;
  scaled.seconds = geometric_mean(scaled.clocks.steps) / geometric_mean(one.best.steps);
  for (auto* clocks : {&scaled.clocks.steps, &scaled.clocks.given_up})
    for (double& clock : *clocks) clock /= scaled.seconds;
  return scaled;
}

std::optional<double> mean_bytes(const RateResult& best) {
  std::vector<double> bytes;
  for (const Measurement& run : best.seeds)
    if (run.steps && run.sent_bytes) bytes.push_back(*run.sent_bytes);
  if (bytes.empty() || bytes.size() < best.steps.size()) return std::nullopt;
  return mean_of(bytes)->mean;
}

std::string seconds_text(const PolicyCost& cost) {
  if (!cost.seconds) return "-";
  std::string text = duration_text(*cost.seconds);
  if (cost.interval)
    text += fmt::format(" [{}, {}]", duration_text(cost.interval->low), duration_text(cost.interval->high));
  return text;
}

std::string bytes_or_dash(const PolicyCost& cost) {
  return cost.sent_bytes ? bytes_text(static_cast<int64_t>(std::llround(*cost.sent_bytes))) : "-";
}

}  // namespace

std::vector<PolicyCost> policy_costs(const StudyAnswer& answer) {
  std::vector<PolicyCost> costs;
  std::vector<StepsToTarget> clocks;
  std::vector<std::pair<size_t, double>> places;  // index among `costs` and seconds of a unit of each of `clocks`
  for (const BestResult& one : answer.best) {
    costs.push_back({one.minibatch, one.steps, {}, {}, mean_bytes(one.best)});
    const std::optional<ScaledClocks> scaled = scaled_clocks(one);
    if (!scaled) continue;
    clocks.push_back(scaled->clocks);
    places.emplace_back(costs.size() - 1, scaled->seconds);
  }
  const PooledSteps pooled = clocks.empty() ? PooledSteps{} : pooled_steps(clocks);
  for (size_t i = 0; i < pooled.means.size(); ++i) {
    const auto& [place, seconds] = places[i];
    costs[place].seconds = pooled.means[i].steps * seconds;
    if (const auto& interval = pooled.means[i].interval)
      costs[place].interval = {interval->low * seconds, interval->high * seconds};
  }
  return costs;
}

bool has_policies(const std::vector<NamedStudy>& studies) {
  return std::any_of(studies.begin(), studies.end(), [](const NamedStudy& study) {
    return std::any_of(study.answer.all.begin(), study.answer.all.end(), [](const MinibatchResults& at) {
      return std::any_of(at.rates.begin(), at.rates.end(),
                         [](const RateResult& one) { return one.policy.sync.policy != Policy::sync; });
    });
  });
}

std::string policies_text(const StudyAnswer& answer) {
  std::vector<std::string> names;
  const auto take = [&](const RateResult& one) {
    const std::string name = policy_name(one.policy);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const BestResult& one : answer.best) take(one.best);
  if (answer.best.empty()) take(answer.all.front().rates.front());
  return fmt::format("{}", fmt::join(names, "; "));
}

std::string costs_text(const StudyAnswer& answer) {
  std::string text =
      fmt::format("  {:>9}  {:>7}  {:<30}  {}\n", "minibatch", "steps", "virtual time, 95 %", "a process sends");
  for (const PolicyCost& cost : policy_costs(answer))
    text += fmt::format("  {:>9}  {:>7}  {:<30}  {}\n", cost.minibatch, count_text(cost.steps), seconds_text(cost),
                        bytes_or_dash(cost));
  for (const MissedResult& one : answer.missed)
    text += fmt::format("  {:>9}  {:>7}  target {}\n", one.minibatch, "-", missed_text(one));
  return text;
}

std::string costs_table(const std::vector<NamedStudy>& studies) {
  HtmlTable table({"study", "policy", "minibatch", "steps", "virtual time, 95 %", "a process sends"});
  for (const NamedStudy& study : studies) {
    const std::string policies = xml_text(policies_text(study.answer));
    for (const PolicyCost& cost : policy_costs(study.answer))
      table.row({xml_text(study.name), policies, fmt::to_string(cost.minibatch), count_text(cost.steps),
                 seconds_text(cost), bytes_or_dash(cost)});
    for (const MissedResult& one : study.answer.missed)
      table.row(
          {xml_text(study.name), policies, fmt::to_string(one.minibatch), "target " + missed_text(one), "-", "-"});
  }
  return table.str();
}

Json costs_json(const StudyAnswer& answer) {
  Json list = Json::array();
  for (const PolicyCost& cost : policy_costs(answer)) {
    Json entry = {{"minibatch", cost.minibatch}, {"steps", cost.steps},       {"virtual_s", cost.seconds},
                  {"virtual_s_low", nullptr},    {"virtual_s_high", nullptr}, {"sent_bytes", cost.sent_bytes}};
    if (cost.interval) {
      entry["virtual_s_low"] = cost.interval->low;
      entry["virtual_s_high"] = cost.interval->high;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace kb
