#include "recipes/answer/branches_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "optim/distributions.h"
#include "recipes/report/count_text.h"
#include "recipes/trials/wrapped.h"

namespace kb {
namespace {

std::string places_table(const BranchesAnswer& answer, int64_t unit, const char* what) {
  std::string text = fmt::format("{:<9} {:>12} {:>10}  {:<20} {}\n", "place", fmt::format("{} seen", what), "minibatch",
                                 fmt::format("B_local, {}", what), "noise scale, 95 %");
  for (const PlaceAnswer& one : answer.places)
    text += fmt::format("{:<9} {:>12} {:>10}  {:<20} {}\n", fmt::format("{}st", one.place.step),
                        unit * one.place.samples, unit * one.place.minibatch, one.text(unit), noise_text(one, unit));
  return text;
}

std::string difference_text(const SmoothedBranch& branch) {
  if (branch.run.factor == 1) return "";
  if (!std::isfinite(branch.difference.value)) return "  diverged";
  const AveragedLoss& less = branch.difference;
  return fmt::format("  {:+.4f}{}{}", less.value, less.error ? fmt::format(" +- {:.4f}", *less.error) : "",
                     branch.holds ? "" : ", lost");
}

std::string branches_table(const BranchesAnswer& answer) {
  std::string text = fmt::format("\n{:<9} {:>4} {:>10} {:>7} {:>9} {:>9}  {}\n", "place", "k", "minibatch", "steps",
                                 "rate", "loss", "less k 1, +- std. error");
  for (const PlaceAnswer& one : answer.places)
    for (const SmoothedBranch& branch : one.branches)
      text += fmt::format("{:<9} {:>4} {:>10} {:>7} {:>9.4g} {:>9.4f}{}\n",
                          branch.run.factor == 1 ? fmt::format("{}st", one.place.step) : "", branch.run.factor,
                          branch.run.minibatch, one.place.steps_of(branch.run.factor), branch.run.rate, branch.loss,
                          difference_text(branch));
  return text;
}

std::string smoothing_words(const BranchesAnswer& answer) {
  switch (answer.smoothing.kind) {
    case LossSmoothing::Kind::ema:
      return fmt::format("the exponential moving average of its steps' losses, with alpha {}", answer.smoothing.number);
    case LossSmoothing::Kind::mean:
      return fmt::format("the mean over the last {:.3g} % of the window, over the same samples for every k",
                         100 * answer.smoothing.number);
    case LossSmoothing::Kind::held_out:
      break;
  }
  return fmt::format("that on the {} part after the window", answer.places.front().branches.front().run.part);
}

// Returns "4096", or "4096 to 8192" if the windows of the places differ.
std::string window_text(const BranchesAnswer& answer) {
  const auto [least, most] =
      std::minmax_element(answer.places.begin(), answer.places.end(),
                          [](const PlaceAnswer& a, const PlaceAnswer& b) { return a.place.window < b.place.window; });
  const std::string first = fmt::to_string(least->place.window);
  return least->place.window == most->place.window ? first : fmt::format("{} to {}", first, most->place.window);
}

std::string method_sentence(const BranchesAnswer& answer) {
  return fmt::format(
      "B_local is the local critical minibatch (Merrill et al. 2025, section 3.1). From the run's state, branches with "
      "k times its minibatch were trained over the same {} samples. The first end is the largest minibatch whose loss "
      "exceeds that of no smaller one by more than {}, the other end the next larger one that was tried. A branch's "
      "loss is {}.",
      window_text(answer), answer.tolerance, smoothing_words(answer));
}

std::string warmup_sentence(const BranchesAnswer& answer) {
  if (answer.warmup.empty()) return "No growth of the minibatch follows: nowhere did twice the minibatch lose nothing.";
  return fmt::format(
      "A warmup of the minibatch that follows (section 4.1) doubles it at the first place from which on twice as many "
      "samples a step lose nothing; it saves {:.0f} % of the run's steps:",
      100 * answer.steps_saved);
}

// Returns the k of branches whose loss is so near the tolerance above the least of smaller ones that noise may have
// decided whether they lost: "2, 4"; "" if there are none, or no errors are known. The bound is Student's t, 95 % for
// all k of the place together (Bonferroni).
std::string open_factors(const BranchesAnswer& answer, const PlaceAnswer& one) {
  const double tail = 0.025 / static_cast<double>(std::max<size_t>(2, one.branches.size()) - 1);
  std::string open;
  double least = one.branches.front().loss;
  for (const SmoothedBranch& branch : one.branches) {
    const AveragedLoss& less = branch.difference;
    const bool is_near = less.error && branch.run.factor > 1 &&
                         std::abs(branch.loss - least - answer.tolerance) < student_t(tail, less.degrees) * *less.error;
    if (is_near) open += fmt::format("{}{}", open.empty() ? "" : ", ", branch.run.factor);
    least = std::min(least, branch.loss);
  }
  return open;
}

std::string noise_note(const BranchesAnswer& answer, const PlaceAnswer& one) {
  const std::string open = open_factors(answer, one);
  if (open.empty()) return "";
  const char* hint = answer.smoothing.kind == LossSmoothing::Kind::ema
                         ? "--loss mean:0.25 averages over more samples, the same for every k, and trains nothing again"
                         : "a longer --window, or a greater share of it, tells more";
  return fmt::format("place {}st: noise may have decided whether k = {} lose more than the tolerance (95 %): {}",
                     one.place.step, open, hint);
}

std::string monotone_note(const PlaceAnswer& one) {
  if (!one.critical || one.critical->is_monotone) return "";
  std::string lost;
  for (const SmoothedBranch& branch : one.branches)
    if (!branch.holds && branch.run.factor < one.critical->factor)
      lost += fmt::format("{}{}", lost.empty() ? "" : ", ", branch.run.factor);
  return fmt::format("place {}st: k = {} lost and k = {} did not, which noise may have done", one.place.step, lost,
                     one.critical->factor);
}

}  // namespace

std::string noise_text(const PlaceAnswer& one, int64_t unit) {
  const std::optional<NoiseScale>& noise = one.branches.front().run.noise;
  if (!noise) return "-";
  const auto text = [&](double samples) {
    const double count = static_cast<double>(unit) * samples;
    return count < 99.5 ? fmt::format("{:.2g}", count) : count_text(count, 3);
  };
  if (!noise->high) return "above " + text(noise->low);
  return fmt::format("{} ({} to {})", text(noise->samples), text(noise->low), text(*noise->high));
}

std::vector<std::string> branches_notes(const BranchesAnswer& answer) {
  std::vector<std::string> notes;
  for (const PlaceAnswer& one : answer.places) {
    if (!one.critical)
      notes.push_back(fmt::format("place {}st: the branch with k = 1 diverged, and tells nothing", one.place.step));
    for (std::string note : {noise_note(answer, one), monotone_note(one)})
      if (!note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

std::vector<std::string> branches_sentences(const BranchesAnswer& answer) {
  return {method_sentence(answer),
          "The noise scale (McCandlish et al. 2018) is an average over about the last hundred steps of the branch with "
          "k = 1.",
          warmup_sentence(answer)};
}

std::string branches_text(const BranchesAnswer& answer) {
  std::string text = places_table(answer, 1, "samples");
  if (answer.context)
    text +=
        fmt::format("\n{}A sample has {} tokens.\n", places_table(answer, *answer.context, "tokens"), *answer.context);
  text += branches_table(answer) + "\n";
  for (const std::string& sentence : branches_sentences(answer)) text += wrapped("", sentence);
  if (!answer.command.empty()) text += "\n  " + answer.command + "\n";
  return text;
}

}  // namespace kb
