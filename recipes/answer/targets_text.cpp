#include "recipes/answer/targets_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

#include "recipes/answer/answer_text.h"
#include "recipes/report/count_text.h"
#include "recipes/trials/wrapped.h"

namespace kb {
namespace {

std::string reached_text(const TargetAnswer& one) {
  return fmt::format("{} of {}", one.minibatches_reached(), one.minibatches());
}

std::string fit_text(const TargetAnswer& one, Estimate ScalingFit::*estimate) {
  return one.fit() ? estimate_text(one.fit()->*estimate) : "-";
}

std::string target_fits_text(const TargetsAnswer& answer) {
  std::string text = fmt::format("{:<12}  {:>11}  {:<24}  {}\n", "target", "minibatches", "S_min, steps, 95 %",
                                 "B_crit, samples, 95 %");
  for (const TargetAnswer& one : answer.targets)
    text += fmt::format("{:<12}  {:>11}  {:<24}  {}\n", one.target.text(), reached_text(one),
                        fit_text(one, &ScalingFit::s_min), fit_text(one, &ScalingFit::b_crit));
  text += fmt::format("\n{:<12}  {:<24}  {:<20}  {}\n", "target", "E_min, samples, 95 %", "perfect scaling ends",
                      "gain ends");
  for (const TargetAnswer& one : answer.targets)
    text += fmt::format("{:<12}  {:<24}  {:<20}  {}\n", one.target.text(), fit_text(one, &ScalingFit::e_min),
                        fit_text(one, &ScalingFit::perfect_end), fit_text(one, &ScalingFit::gain_end));
  return text;
}

std::string target_tokens_text(const TargetsAnswer& answer) {
  if (!answer.context) return "";
  const auto cell = [&](const TargetAnswer& one, Estimate ScalingFit::*estimate) {
    return one.fit() ? estimate_text(in_tokens(one.fit()->*estimate, *answer.context)) : "-";
  };
  std::string text = fmt::format("\n{:<12}  {:<28}  {}\n", "target", "E_min, tokens, 95 %", "B_crit, tokens, 95 %");
  for (const TargetAnswer& one : answer.targets)
    text += fmt::format("{:<12}  {:<28}  {}\n", one.target.text(), cell(one, &ScalingFit::e_min),
                        cell(one, &ScalingFit::b_crit));
  return text + fmt::format("A sample has {} tokens.\n", *answer.context);
}

std::string target_noise_text(const TargetsAnswer& answer) {
  if (!answer.has_noise()) return "";
  std::string text =
      fmt::format("\n{:<12}  {:<40}  {}\n", "target", "noise scale, samples (least to greatest)", "B_crit over it");
  for (const TargetAnswer& one : answer.targets)
    text += fmt::format("{:<12}  {:<40}  {}\n", one.target.text(), noise_text(one), critical_over_noise(one));
  return text;
}

// Returns tables of the steps, with at most seven targets beside each other.
std::string target_steps_text(const TargetsAnswer& answer) {
  constexpr size_t kBeside = 7;
  std::string text;
  for (size_t first = 0; first < answer.targets.size(); first += kBeside) {
    const size_t last = std::min(first + kBeside, answer.targets.size());
    std::map<int64_t, std::string> lines;  // lines by minibatch
    std::string head = fmt::format("\nSteps to each {}\n{:>9}", answer.own.metric, "minibatch");
    for (size_t i = first; i < last; ++i) {
      const TargetAnswer& one = answer.targets[i];
      head += fmt::format("  {:>8}", fmt::format("{:.5g}", one.target.value));
      std::map<int64_t, std::string> cells;
      for (const Measurement& run : one.runs) cells[run.minibatch] = "-";
      if (one.answer)
        for (const BestResult& best : one.answer->best) cells[best.minibatch] = count_text(best.steps);
      for (const auto& [minibatch, cell] : cells)
        lines.try_emplace(minibatch, fmt::format("{:>9}", minibatch)).first->second += fmt::format("  {:>8}", cell);
    }
    text += head + "\n";
    for (const auto& [minibatch, line] : lines) text += line + "\n";
  }
  return text;
}

std::string growth_sentence(const TargetsAnswer& answer) {
  const std::vector<const TargetAnswer*> told = answer.told();
  const std::string question = fmt::format("Does B_crit grow as the {} {}? {}", answer.own.metric,
                                           answer.higher_is_better ? "rises" : "falls", text_of(answer.growth()));
  if (told.size() < 2)
    return fmt::format("{}: of {} target{} the runs tell a B_crit, and two are needed.", question, told.size(),
                       told.size() == 1 ? "" : "s");
  const auto place = [](const TargetAnswer& one) {
    return fmt::format("{} at {}", estimate_text(one.fit()->b_crit), one.target.text());
  };
  const std::string places = fmt::format("{}, {}", place(*told.front()), place(*told.back()));
  switch (answer.growth()) {
    case Verdict::held:
      return fmt::format("{}: {}; the intervals are apart, and B_crit is greater at each target than before.", question,
                         places);
    case Verdict::not_held:
      return fmt::format("{}: {}; the intervals are apart, and the last is lower.", question, places);
    default:
      break;
  }
  const bool is_apart = told.back()->fit()->b_crit.interval.low > told.front()->fit()->b_crit.interval.high;
  return fmt::format("{}: {}; the intervals {}.", question, places,
                     is_apart ? "are apart, but B_crit falls in between" : "overlap");
}

// Returns "" if there is no such law.
std::string law_sentence(const TargetsAnswer& answer) {
  const std::optional<PowerLaw> law = answer.law();
  if (!law) return "";
  const std::string fit = "B_crit = B* / L^(1 / alpha) (Kaplan et al. 2020), least squares in log-log:";
  if (law->exponent >= 0)
    return fmt::format("{} B_crit does not grow as the loss L falls, its exponent is {:+.3g}.", fit, law->exponent);
  const std::string tokens =
      answer.context ? fmt::format(" ({} tokens)", count_text(law->factor * static_cast<double>(*answer.context))) : "";
  return fmt::format(
      "{} B* {} samples{}, alpha {:.3g} (1 / alpha {:.3g}), of {} targets, which share the chance of their runs.", fit,
      count_text(law->factor), tokens, -1 / law->exponent, -law->exponent, answer.enclosed().size());
}

}  // namespace

Estimate in_tokens(const Estimate& samples, int64_t context) {
  const auto times = static_cast<double>(context);
  return {times * samples.value, {times * samples.interval.low, times * samples.interval.high}};
}

std::string noise_text(const TargetAnswer& one) {
  if (!one.noise) return "-";
  const auto text = [](double scale) { return std::isfinite(scale) ? count_text(scale) : "unbounded"; };
  return fmt::format("{} ({} to {})", text(one.noise->median), text(one.noise->least), text(one.noise->greatest));
}

std::string critical_over_noise(const TargetAnswer& one) {
  return one.noise && one.fit() && std::isfinite(one.noise->median)
             ? fmt::format("{:.3g}", one.fit()->b_crit.value / one.noise->median)
             : "-";
}

std::vector<std::string> target_notes(const TargetsAnswer& answer) {
  std::vector<std::string> notes;
  for (const TargetAnswer& one : answer.targets) {
    const bool is_beyond =
        answer.higher_is_better ? one.target.value > answer.own.value : one.target.value < answer.own.value;
    if (!is_beyond && one.minibatches_reached() == one.minibatches()) continue;
    notes.push_back(fmt::format("{}: {} of {} runs reach it, {} minibatches of {}{}", one.target.text(),
                                one.runs_reached, one.runs.size(), one.minibatches_reached(), one.minibatches(),
                                is_beyond ? fmt::format("; the runs end at {}", answer.own.text()) : ""));
  }
  return notes;
}

std::vector<std::string> targets_sentences(const TargetsAnswer& answer) {
  std::vector<std::string> sentences = {growth_sentence(answer)};
  if (std::string law = law_sentence(answer); !law.empty()) sentences.push_back(std::move(law));
  std::vector<std::string> assuming;
  for (const TargetAnswer& one : answer.targets)
    if (one.fit() && one.fit()->assumes_k()) assuming.push_back(one.target.text());
  if (!assuming.empty())
    sentences.push_back(fmt::format("Intervals are {} at {}: fewer than {} minibatches reach it, which do not test k.",
                                    level_text(ScalingFit{}), fmt::join(assuming, ", "), kLeastOfFreeBend));
  if (answer.has_noise())
    sentences.push_back(
        "The noise scale (McCandlish et al. 2018) is that of the run with the fewest steps of each minibatch, as told "
        "by "
        "the evaluation at which it came to the target: their median, least and greatest.");
  sentences.push_back(
      "Each target has its own best rate of each minibatch: the fewest steps (geometric mean) under the seeds that all "
      "of its rates have, of the rates at which more than half of these runs reach it.");
  return sentences;
}

std::string targets_text(const TargetsAnswer& answer) {
  std::string text = target_fits_text(answer) + target_tokens_text(answer) + target_noise_text(answer) +
                     target_steps_text(answer) + "\n";
  for (const std::string& sentence : targets_sentences(answer)) text += wrapped("", sentence);
  return text;
}

}  // namespace kb
