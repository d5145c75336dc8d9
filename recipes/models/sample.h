// Texts that a language model of a run writes: token after token, each drawn by the model's own probabilities.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recipes/models/run_model.h"
#include "recipes/task/task.h"
#include "runtime/session.h"

namespace kb {

struct SampleOptions {
  double temperature = 1;  // divides the logits; 0: the most probable token is taken
  int64_t top_k = 0;       // number of most probable tokens that are drawn from; 0: all
  uint64_t seed = 1;
  // A prefill reads the prompt where steps in its place would read so many bytes of parameters, which takes 0.1 s at
  // 10 GB/s. It is a program more to load, or to compile when it is new.
  int64_t prefill_bytes = 1 << 30;
};

// Draws a token by the softmax of its logits over the temperature. `uniform`: a number in [0, 1).
int32_t draw_token(std::span<const double> logits, const SampleOptions& options, double uniform);

// A run's language model with its weights, on the CPU of this machine. A model with Task::next_token writes a token by
// a step of one, which sees the keys and values of those before; a prefill reads several at once. A text longer than
// the context loses its first token for each that is written, so that all others change their places: each token then
// costs a prefill of the whole context, as one of a model without Task::next_token always does.
class Sampler {
 public:
  // Loads the model; the arguments are those of RunModel and RunModel::load. Throws Error, too, unless the recipe's
  // task has one field "tokens" i32 [context + 1] and logits [N, context, vocabulary].
  Sampler(const RunModelRequest& request, const std::optional<Recipe>& own,
          const std::function<void(const std::string&)>& say);

  const std::string& description() const { return model_.description; }
  int64_t vocabulary() const { return vocabulary_; }
  int64_t context() const { return context_; }  // most tokens that the model sees
  // Writes `count` tokens after the prompt and gives each to `take`. The model sees the last `context` tokens. Throws
  // Error for an empty prompt, and for a token that is not below the vocabulary.
  void write(const std::vector<int32_t>& prompt, int64_t count, const SampleOptions& options,
             const std::function<void(int32_t)>& take);

 private:
  void make_prefill(int64_t tokens);
  void prefill(std::span<const int32_t> tokens);
  std::span<const double> after_steps(std::span<const int32_t> text, bool at_once);
  std::span<const double> after_window(std::span<const int32_t> text);

  RunModel model_;
  const Task task_;
  const int64_t context_;
  int64_t vocabulary_ = 0;
  ParameterSpace space_;              // that of the whole model, which the programs share
  std::unique_ptr<Session> next_;     // a step, or without Task::next_token a pass over the context
  std::unique_ptr<Session> prefill_;  // made when it is needed
  std::vector<std::string> caches_;   // outputs of the prefill
  size_t kept_ = 0;                   // tokens of the text, from its first on, whose keys and values the steps keep
  std::vector<double> logits_;
};

}  // namespace kb
