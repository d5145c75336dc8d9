// Beam search: keeps the most probable beginnings of each sequence while they are written token after token.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace kb {

struct BeamOptions {
  int64_t beams = 4;            // beginnings that are kept of each sequence; 1: greedy decoding
  double length_penalty = 0.6;  // alpha of Wu et al. 2016 (arXiv 1609.08144), eq. 14; 0: the plain probability decides
  int64_t steps = 0;            // most tokens of a sequence, the end included
  int32_t begin = 0, end = 0;   // tokens: what stands before a sequence, and what ends it
  std::vector<int32_t> never = {};  // tokens that are not written
};

// Returns the logarithms of the next token's probabilities, one row of all tokens for each sequence and beam: row
// sequence x beams + beam. `tokens` are the last ones; row i goes on with what row parents[i] had before.
using NextScores =
    std::function<std::span<const double>(std::span<const int32_t> tokens, std::span<const int32_t> parents)>;

// Returns the best sequence of each, without begin and end: the one with the greatest log P / lp, where
// lp = ((5 + tokens) / 6)^alpha and the end counts as a token. A sequence is whole when its end is among the `beams`
// most probable continuations of a step. A search ends when no beginning can get better than the best whole sequence,
// so that as many beams as there are continuations find the best of all. If none of them ends within the steps, the
// best beginning is returned.
std::vector<std::vector<int32_t>> beam_search(int64_t sequences, int64_t vocabulary, const BeamOptions& options,
                                              const NextScores& next);

}  // namespace kb
