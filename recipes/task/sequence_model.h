// How a model writes sequences, token after token: a part that reads the source once, and a step that gives the scores
// of the next token. Both share the parameters of the model that was trained.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/text/sequence_pairs.h"
#include "recipes/task/task.h"

namespace kb {

// A value that the encoder gives to every step of the decoder.
struct Memory {
  std::string name;
  Tensor value;  // [N, ...]
};

// The sizes of a decoder's program.
struct DecoderSizes {
  int64_t rows;        // sequences that are written side by side
  int64_t steps;       // most tokens of a sequence
  int64_t vocabulary;  // number of different tokens
};

// The inputs of a decoder's step over `rows` sequences, and what the steps keep for those after them. A step after the
// first may continue other rows than its own: row i goes on with the sequence that row parents[i] has written.
class DecoderStep {
 public:
  // `memory`: names and types of what an encoder gives, with as many rows as the step; empty without an encoder.
  DecoderStep(Graph& graph, const std::vector<std::pair<std::string, Type>>& memory, const DecoderSizes& sizes,
              DType real);

  Tensor tokens() const { return tokens_; }  // i32 [rows, 1] in [0, vocabulary): the last token of each sequence
  Tensor place() const { return place_; }    // i32 [1]: number of the step, from 0
  Tensor seen() const;                       // i32 [rows]: place + 1, how many tokens a sequence has
  Tensor memory(const std::string& name) const;
  // Takes a value of this step, [rows, 1, ...], and returns those of all steps, [rows, steps, ...]: of places after
  // this one whatever an earlier call left.
  Tensor kept(const std::string& name, Tensor value);
  DType real() const { return real_; }

 private:
  Graph& graph_;
  const DecoderSizes sizes_;
  DType real_;
  Tensor tokens_, place_, parents_;
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

}  // namespace kb
