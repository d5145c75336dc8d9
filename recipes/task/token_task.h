// The task of texts: a model over windows of tokens, each of which predicts the token after it.
#pragma once
#include "data/text/token_sequence.h"
#include "recipes/task/task.h"

namespace kb {

// Throws Error where a part of a text has no window of so many tokens.
void check_windows(const TokenText& text, const TokenSequence& tokens, int64_t length);

// Sets the data of a task whose only field is "tokens" i32 [context + 1]: the sources, and their names and hash.
void set_token_sources(Task& task, const TokenText& text);

// Facts of a text that a model's metrics tell. They are known before the text is read.
struct TokenFacts {
  bool are_bytes = false;     // whether a token is a byte
  double nats_per_token = 0;  // exact entropy of a drawn text; 0: it is not known
};

// Returns the metrics of a loss in nats, the mean over a sample's tokens [N]: "perplexity"; of bytes "bits_per_byte";
// and of a drawn text "entropy" in nats a token, the least mean loss that a model can reach.
std::vector<Metric> token_metrics(const TokenFacts& text, Tensor loss);

}  // namespace kb
