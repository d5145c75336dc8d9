#include "recipes/answer/answer_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "recipes/report/count_text.h"
#include "recipes/trials/wrapped.h"

namespace kb {
namespace {

std::string interval_text(const std::optional<ConfidenceInterval>& interval) {
  constexpr int kDigits = 3;
  return interval ? fmt::format("[{}, {}]", count_text(interval->low, kDigits), count_text(interval->high, kDigits))
                  : "";
}

std::string region_text(ScalingRegion region) {
  const std::string text = text_of(region);
  return region == ScalingRegion::no_gain ? text : text.substr(0, text.find(' '));
}

// The best rate; a bound where a better one may lie beyond those that were tried.
std::string best_rate_text(const BestResult& one) {
  return fmt::format("{}{:.4g}", one.is_greatest ? ">= " : one.is_least ? "<= " : "", *one.best.rate);
}

std::string number_or_dash(const std::optional<double>& value) { return value ? fmt::format("{:.4g}", *value) : "-"; }

std::string steps_table(const StudyAnswer& answer) {
  std::string text = fmt::format("{:>9}  {:>6}  {:<15}  {:>7}  {:>7}  {:>5}  {:>6}  {}\n", "minibatch", "steps", "95 %",
                                 "samples", "effic.", "slope", "resid.", "region");
  for (size_t i = 0; i < answer.best.size(); ++i) {
    const BestResult& one = answer.best[i];
    const std::string slope = i == 0 ? "" : fmt::format("{:.2f}", answer.regions.slopes[i - 1]);
    const std::string residual = answer.fit ? fmt::format("{:+.1f} %", 100 * answer.fit->residuals[i]) : "";
    text +=
        fmt::format("{:>9}  {:>6}  {:<15}  {:>7}  {:>7}  {:>5}  {:>6}  {}\n", one.minibatch, count_text(one.steps),
                    interval_text(one.interval), count_text(one.samples), fmt::format("{:.0f} %", 100 * one.efficiency),
                    slope, residual, region_text(answer.regions.regions[i]));
  }
  return text;
}

std::string rates_table(const StudyAnswer& answer) {
  if (!answer.base().best.rate) return "";
  std::string text = fmt::format("\n{:>9}  {:>12}  {:>8}  {:>11}  {:>13}  {:>14}\n", "minibatch", "best rate", "linear",
                                 "square root", "diverged from", "reached");
  for (const BestResult& one : answer.best)
    text += fmt::format("{:>9}  {:>12}  {:>8}  {:>11}  {:>13}  {:>14}\n", one.minibatch,
                        one.best.rate ? best_rate_text(one) : "-", number_or_dash(one.linear_rate),
                        number_or_dash(one.square_root_rate), number_or_dash(one.diverged_from),
                        fmt::format("{} of {}", one.best.steps.size(), one.best.runs));
  return text;
}

std::string fit_table(const CriticalBatch& fit) {
  std::string text = "\nS(B) = S_min (1 + B_crit / B)\n";
  for (const auto& [name, estimate, unit] :
       {std::tuple("S_min", &fit.s_min, "steps"), std::tuple("B_crit", &fit.b_crit, "samples a step"),
        std::tuple("E_min", &fit.e_min, "samples")})
    text += fmt::format("  {:<6}  {:<26}  {}\n", name, estimate_text(*estimate), unit);
  return text;
}

std::string fit_sentence(const StudyAnswer& answer, int64_t resamples) {
  const std::vector<double>& residuals = answer.fit->residuals;
  const auto greatest = std::max_element(residuals.begin(), residuals.end(),
                                         [](double a, double b) { return std::abs(a) < std::abs(b); });
  return fmt::format(
      "The fit is of log S, every minibatch counts once; intervals are 95 % of {} resamples. It leaves {:.1f} % (root "
      "mean square), at most {:+.1f} % at minibatch {}.",
      resamples, 100 * answer.fit->rms, 100 * *greatest,
      answer.best[static_cast<size_t>(greatest - residuals.begin())].minibatch);
}

std::string bound_sentence(const CriticalBatch& fit) {
  if (fit.b_crit_is_lower_bound && fit.b_crit_is_upper_bound)
    return "These steps say nothing of B_crit: its interval is all of what was sought.";
  if (fit.b_crit_is_lower_bound)
    return fmt::format(
        "B_crit is a bound: it is at least {}, and S_min at most {} steps. The minibatches may all lie in perfect "
        "scaling, and E_min alone is known.",
        count_text(fit.b_crit.interval.low), count_text(fit.s_min.interval.high));
  return fmt::format(
      "B_crit is a bound: it is at most {}, and E_min at most {} samples. The minibatches may all lie where a larger "
      "one gains nothing, and S_min alone is known.",
      count_text(fit.b_crit.interval.high), count_text(fit.e_min.interval.high));
}

std::string line_sentence(const LinearBatchFit& line) {
  const std::optional<double> b_crit = line.b_crit();
  return fmt::format(
      "Beside it the line E(B) = E_min + S_min B, by least squares of samples: E_min {}, S_min {}, B_crit {}.",
      count_text(line.e_min), count_text(line.s_min), b_crit ? count_text(*b_crit) : "unknown");
}

std::string perfect_sentence(const StudyAnswer& answer) {
  const int64_t end = answer.best[answer.regions.perfect_end].minibatch;
  const std::string rule = fmt::format("takes more than {:.0f} % above the samples of minibatch {}",
                                       100 * kPerfectExcess, answer.base().minibatch);
  return answer.regions.perfect_end + 1 == answer.best.size()
             ? fmt::format("Perfect scaling holds up to {}, the largest: none {}.", end, rule)
             : fmt::format("Perfect scaling ends at minibatch {}: the next one {}.", end, rule);
}

std::string useful_sentence(const StudyAnswer& answer) {
  const CriticalBatch& fit = *answer.fit;
  const auto useful = [](double b_crit) { return count_text(kUsefulInCritical * b_crit); };
  const std::string rule = fmt::format("a doubling from there saves {:.0f} % of the steps", 100 * kUsefulSaving);
  if (fit.b_crit_is_lower_bound)
    return fmt::format("The largest useful minibatch is at least {}: {}.", useful(fit.b_crit.interval.low), rule);
  if (fit.b_crit_is_upper_bound)
    return fmt::format("The largest useful minibatch is at most {}: {}.", useful(fit.b_crit.interval.high), rule);
  return fmt::format("The largest useful minibatch is {:g} B_crit = {} [{}, {}]{}: {}.", kUsefulInCritical,
                     useful(fit.b_crit.value), useful(fit.b_crit.interval.low), useful(fit.b_crit.interval.high),
                     kUsefulInCritical * fit.b_crit.value > static_cast<double>(answer.best.back().minibatch)
                         ? ", beyond the measured"
                         : "",
                     rule);
}

// Empty where the rate alone was varied.
std::string settings_sentence(const StudyAnswer& answer) {
  std::vector<std::string> settings;
  for (const BestResult& one : answer.best)
    if (!one.best.setting.empty())
      settings.push_back(fmt::format("{} at minibatch {}", one.best.setting, one.minibatch));
  return settings.empty() ? "" : fmt::format("Best with {}.", fmt::join(settings, ", "));
}

}  // namespace

std::string estimate_text(const Estimate& estimate) {
  return fmt::format("{} [{}, {}]", count_text(estimate.value), count_text(estimate.interval.low),
                     count_text(estimate.interval.high));
}

std::vector<std::string> answer_sentences(const StudyAnswer& answer, int64_t resamples) {
  std::vector<std::string> sentences;
  if (answer.fit) {
    sentences.push_back(fit_sentence(answer, resamples));
    if (answer.fit->b_crit_is_lower_bound || answer.fit->b_crit_is_upper_bound)
      sentences.push_back(bound_sentence(*answer.fit));
    sentences.push_back(line_sentence(*answer.line));
  } else {
    sentences.push_back(fmt::format("No critical minibatch: {}.", answer.no_fit));
  }
  sentences.push_back(perfect_sentence(answer));
  if (answer.fit && !(answer.fit->b_crit_is_lower_bound && answer.fit->b_crit_is_upper_bound))
    sentences.push_back(useful_sentence(answer));
  if (const std::string settings = settings_sentence(answer); !settings.empty()) sentences.push_back(settings);
  if (!answer.not_reached.empty())
    sentences.push_back(
        fmt::format("The target was not reached at minibatch {}.", fmt::join(answer.not_reached, ", ")));
  return sentences;
}

std::string answer_text(const StudyAnswer& answer, int64_t resamples) {
  std::string text = steps_table(answer) + rates_table(answer);
  if (answer.fit) text += fit_table(*answer.fit);
  text += "\n";
  for (const std::string& sentence : answer_sentences(answer, resamples)) text += wrapped("", sentence);
  if (answer.cluster)
    text += "\n" + wrapped("", answer.cluster->title + ", " + answer.cluster->nodes) + cost_table(*answer.cluster) +
            wrapped("", cost_sentence(*answer.cluster));
  return text;
}

}  // namespace kb
