#include "recipes/answer/answer_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "optim/equal_variances.h"
#include "recipes/answer/target_cost.h"
#include "recipes/report/count_text.h"
#include "recipes/trials/wrapped.h"

namespace kb {
namespace {

std::string contradiction_note(const StudyAnswer& answer) {
  if (answer.contradicted.empty()) return "";
  std::vector<std::string> places;
  for (const auto& [least, fitted] : answer.contradicted)
    places.push_back(fmt::format("{} steps at minibatch {}, where runs were given up after {}", count_text(fitted),
                                 least.minibatch, count_text(least.steps)));
  return fmt::format(
      "runs that were given up contradict the fitted law. It has {}. Either no rate tried there was good, or the "
      "law does not hold there.{}",
      fmt::join(places, "; "),
      answer.is_contradicted_beyond()
          ? fmt::format(" What it says of minibatches above {} is withheld.", answer.best.back().minibatch)
          : "");
}

// Returns whether the steps look rounded to evaluations whose distance is not known: all seeds tie, though two that
// scatter by sigma (of 1 % at least) have equal whole steps by chance in fewer than 5 % of all cases.
bool looks_rounded(const StepsToTarget& runs, double deviation) {
  constexpr double kLeastDeviation = 0.01, kSeldom = 0.05;
  if (!all_tie(runs) || runs.resolution > 0) return false;
  const double chance =
      1 / (2 * std::sqrt(std::numbers::pi) * std::max(deviation, kLeastDeviation) * runs.steps.front());
  return chance < kSeldom;
}

std::string tie_note(const StudyAnswer& answer) {
  const double deviation = answer.measured.scatter ? answer.measured.scatter->deviation() : 0;
  std::vector<int64_t> tied;
  for (const StepsToTarget& runs : answer.runs_at_best())
    if (looks_rounded(runs, deviation)) tied.push_back(runs.minibatch);
  if (tied.empty()) return "";
  return fmt::format(
      "all seeds have equal steps at minibatch {}: steps look rounded to evaluations. Intervals leave out how far "
      "these are apart, and may be too narrow; a column eval_every of the table tells it.",
      fmt::join(tied, ", "));
}

// Returns a note of runs at best rates that missed the target after steps that nobody noted.
std::string unknown_note(const StudyAnswer& answer) {
  std::vector<std::string> places;
  for (const BestResult& one : answer.best)
    if (const size_t unknown = one.best.runs - one.best.diverged - one.best.steps.size() - one.best.given_up.size())
      places.push_back(fmt::format("{} of {} runs at minibatch {}", unknown, one.best.runs, one.minibatch));
  if (places.empty()) return "";
  return fmt::format(
      "S leaves out {}: they missed the target, and their steps are not known. S is too low there; with the steps "
      "until they were given up they would count.",
      fmt::join(places, ", "));
}

std::string scatter_note(const StudyAnswer& answer) {
  if (!answer.measured.scatter) return "";
  const std::optional<EqualVariancesTest> test = test_equal_variances(answer.runs_at_best(), *answer.measured.scatter);
  if (!test || !test->rejects()) return "";
  return fmt::format(
      "seeds do not scatter by a power of the minibatch (Bartlett's test, p = {:.2g}): by {:.2g} % at minibatch {}, "
      "where the power has {:.2g} %, by {:.2g} % at {}, where it has {:.2g} %. Where seeds scatter three times as "
      "much as the power says, intervals of 95 % hold S in 86 to 94 % of simulated studies.",
      test->p, 100 * test->least.deviation, test->least.minibatch, 100 * test->least.of_law,
      100 * test->greatest.deviation, test->greatest.minibatch, 100 * test->greatest.of_law);
}

std::string interval_text(const std::optional<ConfidenceInterval>& interval) {
  constexpr int kDigits = 3;
  return interval ? fmt::format("[{}, {}]", count_text(interval->low, kDigits), count_text(interval->high, kDigits))
                  : "";
}

std::string region_text(std::optional<ScalingRegion> region) {
  const std::string text = region ? text_of(*region) : "";
  return region == ScalingRegion::no_gain ? text : text.substr(0, text.find(' '));
}

// Returns the best rate; a bound if a better one may lie beyond those that were tried.
std::string best_rate_text(const BestResult& one) {
  return fmt::format("{}{:.4g}", one.is_greatest ? ">= " : one.is_least ? "<= " : "", *one.best.rate);
}

// Returns a count, or a number too small for one: "0.85", "1.85", "12.3", "1234".
std::string number_text(double value) {
  constexpr double kCounts = 100;
  return value < kCounts ? fmt::format("{:.3g}", value) : count_text(value);
}

std::string steps_table(const StudyAnswer& answer) {
  std::string text = fmt::format("{:>9}  {:>6}  {:<15}  {:>7}  {:>7}  {:>5}  {:>6}  {}\n", "minibatch", "steps", "95 %",
                                 "samples", "effic.", "slope", "resid.", "region");
  for (size_t i = 0; i < answer.best.size(); ++i) {
    const BestResult& one = answer.best[i];
    const std::string slope = i == 0 ? "" : fmt::format("{:.2f}", answer.slopes[i - 1]);
    const std::string residual = answer.fit ? fmt::format("{:+.1f} %", 100 * answer.fit->answer.residuals[i]) : "";
    text +=
        fmt::format("{:>9}  {:>6}  {:<15}  {:>7}  {:>7}  {:>5}  {:>6}  {}\n", one.minibatch, count_text(one.steps),
                    interval_text(one.interval), count_text(one.samples), fmt::format("{:.0f} %", 100 * one.efficiency),
                    slope, residual, region_text(answer.region_of(one)));
  }
  for (const MissedResult& one : answer.missed)
    text += fmt::format("{:>9}  {:>6}  {}\n", one.minibatch, one.least_steps ? count_text(*one.least_steps) : "-",
                        (one.least_steps ? "or more: " : "") + missed_text(one));
  return text;
}

std::string rates_table(const StudyAnswer& answer) {
  if (!answer.base_result().best.rate) return "";
  std::string text = fmt::format("\n{:>9}  {:>10}  {:<16}  {:>8}  {:>8}  {:>8}  {:>8}\n", "minibatch", "best rate",
                                 "as good, 95 %", "linear", "sq. root", "diverged", "reached");
  for (const BestResult& one : answer.best)
    text +=
        fmt::format("{:>9}  {:>10}  {:<16}  {:>8}  {:>8}  {:>8}  {:>8}\n", one.minibatch,
                    one.best.rate ? best_rate_text(one) : "-", one.rate_interval ? ends_text(*one.rate_interval) : "",
                    number_or_dash(one.linear_rate), number_or_dash(one.square_root_rate),
                    number_or_dash(one.diverged_from), fmt::format("{} of {}", one.best.steps.size(), one.best.runs));
  return text;
}

std::string fit_table(const CriticalBatch& fit) {
  std::string text = fmt::format("\n{}\n", law_text(fit));
  text += fit.of_one ? fmt::format("  {:<20}  {:<24}  {}\n", "", "k free", "k = 1")
                     : fmt::format("  {:<20}  {}\n", "", level_text(fit.answer));
  for (const FitRow& row : fit_rows(fit))
    text += fmt::format("  {:<20}  {:<24}  {}\n", row.name, row.answer, row.of_one);
  return text;
}

std::string fit_sentence(const StudyAnswer& answer) {
  const ScalingFit& fit = answer.fit->answer;
  const auto greatest = std::max_element(fit.residuals.begin(), fit.residuals.end(),
                                         [](double a, double b) { return std::abs(a) < std::abs(b); });
  const bool has_variances = answer.best.front().interval.has_value();
  return fmt::format(
      "The fit is of log S, {}; intervals are {}, by profile likelihood. It leaves {:.1f} % (root mean square), at "
      "most {:+.1f} % at minibatch {}.",
      has_variances ? "weighted by the variances of the means" : "every minibatch counts once", level_text(fit),
      100 * fit.rms, 100 * *greatest, answer.best[static_cast<size_t>(greatest - fit.residuals.begin())].minibatch);
}

std::string test_sentence(const StudyAnswer& answer) {
  const std::optional<LawTest>& test = answer.fit->test;
  if (!test && answer.fit->of_one)
    return "The law with k = 1 is not tested: its B_crit lies where the search ends, so that k = 1 may fit better "
           "beyond.";
  if (!test)
    return fmt::format(
        "The law is not tested: k is taken as 1, and a fit with k free, which alone tells where perfect scaling and "
        "gain end, takes {} minibatches or more, here are {}. If steps bend more sharply, S_min, B_crit and E_min lie "
        "outside these intervals more often.",
        kLeastOfFreeBend, answer.best.size());
  const std::string figures = fmt::format("F(1, {}) = {:.2g}, p = {:.2g}", test->degrees, test->f, test->p);
  if (test->rejects()) return fmt::format("S_min (1 + B_crit / B), the law with k = 1, is rejected: {}.", figures);
  return fmt::format("S_min (1 + B_crit / B), the law with k = 1, is not rejected: {}.", figures);
}

// Returns what an open end of B_crit's interval means; "" if both ends are known.
std::string bound_sentence(const StudyAnswer& answer) {
  const ConfidenceInterval& b_crit = answer.fit->answer.b_crit.interval;
  if (!b_crit.has_low() && !b_crit.has_high())
    return "These steps say nothing of B_crit: its interval is all of what was sought.";
  if (!b_crit.has_high() && answer.is_contradicted_beyond())
    return fmt::format("B_crit is a bound: it is at least {}, and nothing is said of minibatches above {}.",
                       count_text(b_crit.low), answer.best.back().minibatch);
  if (!b_crit.has_high())
    return fmt::format(
        "B_crit is a bound: it is at least {}. The fitted minibatches may all lie in perfect scaling, and E_min alone "
        "is known.",
        count_text(b_crit.low));
  if (!b_crit.has_low())
    return fmt::format(
        "B_crit is a bound: it is at most {}. The fitted minibatches may all lie where a larger one gains nothing, and "
        "S_min alone is known.",
        count_text(b_crit.high));
  return "";
}

std::string line_sentence(const StudyAnswer& answer) {
  const LinearBatchFit& line = *answer.line;
  const ScalingFit& of_one = answer.fit->of_one ? *answer.fit->of_one : answer.fit->answer;
  const ConfidenceInterval& interval = of_one.b_crit.interval;
  std::optional<double> b_crit = line.b_crit();  // it is told only within what the other fit seeks
  if (b_crit && *b_crit > kWidestCritical * static_cast<double>(answer.best.back().minibatch)) b_crit.reset();
  const bool is_outside = b_crit && (*b_crit < interval.low || *b_crit > interval.high);
  return fmt::format(
      "Beside it the line E(B) = E_min + S_min B, by least squares of samples: E_min {}, S_min {}, B_crit {}{}.",
      count_text(line.e_min), count_text(line.s_min), b_crit ? count_text(*b_crit) : "unknown",
      is_outside ? ", outside the interval of the fit in log space with k = 1" : "");
}

// Returns "minibatch 40 [36, 44]", or "minibatch 30 or above" if an end is open.
std::string place_text(const Estimate& estimate) {
  const ConfidenceInterval& interval = estimate.interval;
  if (!estimate.is_told()) return "a minibatch that these steps do not tell";
  if (!interval.has_high()) return fmt::format("minibatch {} or above", count_text(interval.low));
  if (!interval.has_low()) return fmt::format("minibatch {} or below", count_text(interval.high));
  return "minibatch " + estimate_text(estimate);
}

std::string regions_sentence(const ScalingFit& fit) {
  if (fit.assumes_k()) return "";
  return fmt::format(
      "Perfect scaling ends at {}, where steps are {:.0f} % above E_min / B; gain ends at {}, where they are {:.0f} % "
      "above S_min.",
      place_text(fit.perfect_end), 100 * kPerfectExcess, place_text(fit.gain_end), 100 * kGainExcess);
}

std::string noise_sentence(const TargetNoise& noise) {
  return fmt::format(
      "By the {} samples that {} was judged on, one standard deviation of the figure is {:.2g}, {:.0f} % of the "
      "target: it "
      "moves every S alike, by some {:.0f} %, which the intervals do not hold.",
      noise.samples, noise.target.text(), noise.deviation, 100 * noise.deviation / noise.target.value,
      100 * std::expm1(noise.shift));
}

// Returns the best settings; "" if only the rate was varied.
std::string settings_sentence(const StudyAnswer& answer) {
  std::vector<std::string> settings;
  for (const BestResult& one : answer.best)
    if (!one.best.setting.empty())
      settings.push_back(
          fmt::format("{} at minibatch {}{}", one.best.setting, one.minibatch,
                      one.effective_rate ? fmt::format(" (rate / (1 - momentum) {:.3g})", *one.effective_rate) : ""));
  return settings.empty() ? "" : fmt::format("Best with {}.", fmt::join(settings, ", "));
}

// Adds sentences of the minibatches without mean steps.
void add_missed(std::vector<std::string>& sentences, const std::vector<MissedResult>& missed) {
  std::vector<std::string> nowhere, in_part;
  for (const MissedResult& one : missed) {
    if (one.reached > 0)
      in_part.push_back(fmt::format("minibatch {} was {}", one.minibatch, missed_text(one)));
    else
      nowhere.push_back(fmt::format(
          "{}{}", one.minibatch, one.least_steps ? fmt::format(" (>= {} steps)", count_text(*one.least_steps)) : ""));
  }
  if (!nowhere.empty())
    sentences.push_back(fmt::format("The target was not reached at minibatch {}.", fmt::join(nowhere, ", ")));
  if (!in_part.empty())
    sentences.push_back(fmt::format("No rate has mean steps where at most half of its runs reached the target: {}.",
                                    fmt::join(in_part, "; ")));
}

}  // namespace

std::vector<std::string> answer_notes(const StudyAnswer& answer) {
  std::vector<std::string> notes = {contradiction_note(answer), unknown_note(answer), tie_note(answer),
                                    scatter_note(answer)};
  std::erase(notes, "");
  return notes;
}

std::string estimate_text(const Estimate& estimate) {
  const ConfidenceInterval& interval = estimate.interval;
  if (!estimate.is_told()) return "unknown";
  if (!interval.has_high()) return ">= " + number_text(interval.low);
  if (!interval.has_low()) return "<= " + number_text(interval.high);
  return fmt::format("{} [{}, {}]", number_text(estimate.value), number_text(interval.low), number_text(interval.high));
}

std::string ends_text(const ConfidenceInterval& interval) {
  return fmt::format("[{}, {}]", interval.has_low() ? fmt::format("{:.3g}", interval.low) : "..",
                     interval.has_high() ? fmt::format("{:.3g}", interval.high) : "..");
}

std::string missed_text(const MissedResult& one) {
  const std::string diverged = one.diverged > 0 ? fmt::format(", {} diverged", one.diverged) : "";
  if (one.reached == 0) return fmt::format("not reached in {} runs{}", one.runs, diverged);
  const std::string fewest = count_text(*one.fewest_steps), most = count_text(*one.most_steps);
  return fmt::format("reached in {} of {} runs ({} steps){}", one.reached, one.runs,
                     fewest == most ? fewest : fmt::format("{} to {}", fewest, most), diverged);
}

const char* level_text(const ScalingFit& fit) { return fit.assumes_k() ? "95 % if k = 1" : "95 %"; }

std::string law_text(const CriticalBatch& fit) {
  return fit.of_one ? "S(B) = S_min (1 + (B_crit / B)^k)^(1 / k)" : "S(B) = S_min (1 + B_crit / B)";
}

std::vector<FitRow> fit_rows(const CriticalBatch& fit) {
  const auto of_one = [&](const Estimate ScalingFit::*estimate) {
    return fit.of_one ? estimate_text((*fit.of_one).*estimate) : "";
  };
  std::vector<FitRow> rows;
  for (const auto& [name, estimate] :
       {std::pair("S_min, steps", &ScalingFit::s_min), std::pair("B_crit, samples", &ScalingFit::b_crit),
        std::pair("E_min, samples", &ScalingFit::e_min), std::pair("perfect scaling ends", &ScalingFit::perfect_end),
        std::pair("gain ends", &ScalingFit::gain_end)}) {
    if (fit.answer.assumes_k() && (estimate == &ScalingFit::perfect_end || estimate == &ScalingFit::gain_end)) continue;
    rows.push_back({name, estimate_text(fit.answer.*estimate), of_one(estimate)});
  }
  if (fit.answer.k) rows.push_back({"k", estimate_text(*fit.answer.k), "1"});
  return rows;
}

std::vector<std::string> answer_sentences(const StudyAnswer& answer) {
  std::vector<std::string> sentences;
  for (const std::string& note : answer_notes(answer)) sentences.push_back("NOTE: " + note);
  if (answer.fit) {
    sentences.insert(sentences.end(), {fit_sentence(answer), test_sentence(answer), bound_sentence(answer)});
    sentences.push_back(regions_sentence(answer.fit->answer));
    sentences.push_back(line_sentence(answer));
  } else {
    sentences.push_back(fmt::format("No critical minibatch: {}.", answer.no_fit));
  }
  for (const SlopeOfSteps& slope : answer.slopes_of_ranges)
    sentences.push_back(
        fmt::format("The slope of log S over log B is {:.2f} +- {:.2f} (standard error) from minibatch {} to {}.",
                    slope.slope, slope.standard_error, slope.first, slope.last));
  if (answer.noise) sentences.push_back(noise_sentence(*answer.noise));
  if (const std::string settings = settings_sentence(answer); !settings.empty()) sentences.push_back(settings);
  add_missed(sentences, answer.missed);
  std::erase(sentences, "");
  return sentences;
}

std::string answer_text(const StudyAnswer& answer) {
  std::string text = steps_table(answer) + rates_table(answer);
  if (answer.fit) text += fit_table(*answer.fit);
  text += "\n";
  for (const std::string& sentence : answer_sentences(answer)) text += wrapped("", sentence);
  if (answer.cluster)
    text += "\n" + wrapped("", answer.cluster->title + ", " + answer.cluster->nodes) + cost_table(*answer.cluster) +
            wrapped("", cost_sentence(*answer.cluster)) + "\n" + trials_table(*answer.cluster) +
            wrapped("", trials_sentence(*answer.cluster));
  return text;
}

}  // namespace kb
