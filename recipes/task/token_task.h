// The task of texts: a model over windows of tokens, each of which predicts the token after it.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "data/text/token_sequence.h"
#include "recipes/task/source.h"
#include "recipes/task/task.h"

namespace kb {

// Writes the fields of a sample, those whose span is not empty, from the tokens of its window, which it may change.
using WindowFields = std::function<void(const SampleRequest& sample, std::span<int32_t> tokens,
                                        std::span<const std::span<std::byte>> fields)>;

// Returns a source of windows of `length` tokens, one after another: windows do not overlap, and tokens after the last
// whole window are left out. `bytes`: those of each field. Throws Error where the tokens are fewer.
std::shared_ptr<const Source> token_windows(const TokenText& text, std::shared_ptr<const TokenSequence> tokens,
                                            int64_t length, std::vector<size_t> bytes, WindowFields write);

// Sets the data of a task whose only field is "tokens" i32 [context + 1]: the sources, and their names and hash.
void set_token_sources(Task& task, const TokenText& text);

// Sets the counts of samples of `length` tokens of the drawn language, which is known before its text is read, and the
// reading, which ends with `set_sources`.
void set_words(Task& task, int64_t length, std::function<void(Task&, const TokenText&)> set_sources);

// Facts of a text that a model's metrics tell. They are known before the text is read.
struct TokenFacts {
  bool are_bytes = false;     // whether a token is a byte
  double nats_per_token = 0;  // exact entropy of a drawn text; 0: it is not known
};

// Returns the metrics of a loss in nats, the mean over a sample's tokens [N]: "perplexity"; of bytes "bits_per_byte";
// and of a drawn text "entropy" in nats a token, the least mean loss that a model can reach.
std::vector<Metric> token_metrics(const TokenFacts& text, Tensor loss);

}  // namespace kb
