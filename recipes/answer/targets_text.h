// The answer for several targets in words: for a terminal of 80 columns, and in parts for the page.
#pragma once
#include <string>
#include <vector>

#include "recipes/answer/targets_answer.h"

namespace kb {

// Returns the estimate in tokens, of `context` a sample.
Estimate in_tokens(const Estimate& samples, int64_t context);

// Returns "12.3 (8.1 to 19)": the median, the least and the greatest gradient noise scale, "unbounded" where it is
// infinite; "-" without one.
std::string noise_text(const TargetAnswer& one);

// Returns B_crit over the gradient noise scale: "1.45"; "-" without either, and if that is infinite.
std::string critical_over_noise(const TargetAnswer& one);

// One number of the fits that stands in a column for each target; in_samples: it can be counted in tokens, too.
struct TargetColumn {
  const char *name, *key;
  Estimate ScalingFit::*estimate;
  bool in_samples;
};
inline constexpr TargetColumn kTargetColumns[] = {
    {"S_min, steps", "s_min", &ScalingFit::s_min, false},
    {"E_min, samples", "e_min", &ScalingFit::e_min, true},
    {"B_crit, samples", "b_crit", &ScalingFit::b_crit, true},
    {"perfect scaling ends", "perfect_scaling_ends", &ScalingFit::perfect_end, true},
    {"gain ends", "gain_ends", &ScalingFit::gain_end, true}};

// Returns a line for each target that not all minibatches reach, or that lies beyond the one at which the runs end.
std::vector<std::string> target_notes(const TargetsAnswer& answer);

// Returns sentences: whether B_crit grows as the figure gets better, and its law against the loss.
std::vector<std::string> targets_sentences(const TargetsAnswer& answer);

// Returns tables of the fits, of the steps of each minibatch to each target, and the sentences.
std::string targets_text(const TargetsAnswer& answer);

}  // namespace kb
