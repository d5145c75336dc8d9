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

// The inputs of a decoder's step over `rows` sequences, and what the steps keep for those after them. A step after the
// first may continue other rows than its own: row i goes on with the sequence that row parents[i] has written.
class DecoderStep {
 public:
  // `memory`: names and types of what the encoder gives, with as many rows as the step. `steps`: the most tokens that a
  // sequence gets.
  DecoderStep(Graph& graph, const std::vector<std::pair<std::string, Type>>& memory, int64_t rows, int64_t steps,
              int64_t vocabulary, DType real);

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
  int64_t rows_, steps_;
  DType real_;
  Tensor tokens_, place_, parents_;
  std::vector<Memory> memory_;
};

// Names of the inputs of a step's program, and of its output.
inline constexpr const char *kStepTokens = "tokens", *kStepPlace = "place", *kStepParents = "parents",
                            *kStepScores = "scores";

struct SequenceModel {
  std::function<std::vector<Memory>(Inputs&)> encode;
  std::function<Tensor(DecoderStep&)> step;  // returns logits [rows, vocabulary] of the next token
  std::shared_ptr<const SequencePairs> pairs;
};

// The program that reads the source, whose outputs are the memory, and the one of a step, whose output kStepScores is
// the logarithm of each token's probability, [rows, vocabulary].
Graph build_encoder_graph(const Task& task, const SequenceModel& model, BatchShape batch, DType real);
Graph build_step_graph(const Task& task, const SequenceModel& model, const Graph& encoder, int64_t rows, int64_t steps,
                       DType real);

}  // namespace kb
