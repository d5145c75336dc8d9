// How a model writes sequences, token after token: a part that reads the source once, and a step that gives the scores
// of the next token. Both share the parameters of the model that was trained.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/text/sequence_pairs.h"
#include "graph/functions.h"
#include "recipes/task/task.h"

namespace kb {

// A value that the encoder gives to every step of the decoder.
struct Memory {
  std::string name;
  Tensor value;  // [N, ...]
};

// The sizes of a decoder's program.
struct DecoderSizes {
  int64_t rows;         // sequences that are written side by side
  int64_t steps;        // most tokens of a sequence
  int64_t vocabulary;   // number of different tokens
  int64_t prefill = 0;  // tokens of each sequence, from its first on, that a prefill reads at once; 0: a step of one
};

// The tokens that a program of a decoder reads, T of each of `rows` sequences, and what it keeps for those after them:
// the last token, or in a prefill the first ones. A step after the first may continue other rows than its own: row i
// goes on with the sequence that row parents[i] has written.
class DecoderStep {
 public:
  // `memory`: names and types of what an encoder gives, with as many rows as the step; empty without an encoder.
  DecoderStep(Graph& graph, const std::vector<std::pair<std::string, Type>>& memory, const DecoderSizes& sizes,
              DType real);

  Tensor tokens() const { return tokens_; }  // i32 [rows, T] in [0, vocabulary)
  Tensor places() const { return places_; }  // i32 [T]: which tokens of their sequences they are, from 0
  Tensor memory(const std::string& name) const;
  // Attention of q, k and v [rows, T, features]: each token sees itself and those before it, also those that earlier
  // programs have read, whose keys and values are kept. `name` tells the attentions of a scope apart.
  Tensor attend(const std::string& name, Tensor q, Tensor k, Tensor v, AttentionOptions options);
  DType real() const { return real_; }

 private:
  Tensor kept(const std::string& name, Tensor value);

  Graph& graph_;
  const DecoderSizes sizes_;
  DType real_;
  Tensor tokens_, places_, parents_;
  std::vector<Memory> memory_;
};

// Names of the inputs of a step's program, and of its output.
inline constexpr const char *kStepTokens = "tokens", *kStepPlace = "place", *kStepParents = "parents",
                            *kStepScores = "scores";

struct SequenceModel {
  std::function<std::vector<Memory>(Inputs&)> encode;
  NextToken step;
  std::shared_ptr<const SequencePairs> pairs;
};

// The program that reads the source, whose outputs are the memory.
Graph build_encoder_graph(const Task& task, const SequenceModel& model, BatchShape batch, DType real);
// The program of a step, whose output kStepScores is the logarithm of each token's probability, [rows, vocabulary].
// `encoder`: the program whose outputs the step takes as its memory; null without an encoder.
Graph build_step_graph(const Task& task, const NextToken& next, const Graph* encoder, const DecoderSizes& sizes,
                       DType real);
// The program that reads the first sizes.prefill tokens of each sequence. Its outputs have the names of a step's caches
// (Session::fill_table), and are their values for these tokens.
Graph build_prefill_graph(const Task& task, const NextToken& next, const DecoderSizes& sizes, DType real);

}  // namespace kb
