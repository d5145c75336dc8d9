// Masked tokens (Devlin et al. 2019, section 3.1): a sample hides some of its tokens, which a model predicts from all
// others. How many are hidden is the same for every sample, so that shapes are fixed.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "data/text/token_sequence.h"
#include "recipes/task/source.h"
#include "recipes/task/task.h"

namespace kb {

// A place that is predicted holds the mask in 80 % of the cases, a random token in 10 %, and else its own token.
inline constexpr double kHiddenShare = 0.8, kRandomShare = 0.1;

struct MaskRule {
  int64_t length = 0;       // tokens of a sample
  int64_t predictions = 0;  // places of a sample that are predicted, all sets of so many with one probability
  int32_t mask = 0;         // token that stands for hidden ones
  int64_t tokens = 0;       // random tokens are drawn below it, all but the mask
};

// Hides tokens in place, by random numbers of `key` alone. Writes the places in rising order, and the tokens that were
// there. `places` and `labels` are as long as rule.predictions.
void hide_tokens(const MaskRule& rule, uint64_t key, std::span<int32_t> tokens, std::span<int32_t> places,
                 std::span<int32_t> labels);

// Returns a source of windows (token_windows) of rule.length tokens. What is hidden follows from the seed, the epoch
// and the number of the window, so that it is drawn anew each epoch, and is fixed in evaluations. Throws Error where
// the tokens are fewer.
std::shared_ptr<const Source> masked_windows(const TokenText& text, std::shared_ptr<const TokenSequence> tokens,
                                             const MaskRule& rule);

// Returns the fields of a window: "tokens" i32 [length], of which some are hidden, "places" i32 [predictions] and
// "labels" i32 [predictions], both in the order of the places.
std::vector<Field> masked_fields(const MaskRule& rule, int64_t vocabulary);

// Sets the data of a task with these fields: the sources, and their name.
void set_masked_sources(Task& task, const TokenText& text, const MaskRule& rule);

}  // namespace kb
