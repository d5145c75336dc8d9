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
};

// Draws a token by the softmax of its logits over the temperature. `uniform`: a number in [0, 1).
int32_t draw_token(std::span<const double> logits, const SampleOptions& options, double uniform);

// A run's language model with its weights, on the CPU of this machine. A model with Task::next_token writes a token by
// a step of one, which sees the keys and values of those before; other models, and texts longer than the context, whose
// tokens change their places, compute a whole window for each token.
class Sampler {
 public:
  // Loads the model; the arguments are those of RunModel and RunModel::load. Throws Error, too, unless the recipe's
  // task has one field "tokens" i32 [context + 1] and logits [N, context, vocabulary].
  Sampler(const RunModelRequest& request, const std::optional<Recipe>& own,
          const std::function<void(const std::string&)>& say);

  const std::string& description() const { return model_.description; }
  int64_t vocabulary() const { return vocabulary_; }
  // Writes `count` tokens after the prompt and gives each to `take`. The model sees the last `context` tokens. Throws
  // Error for an empty prompt, and for a token that is not below the vocabulary.
  void write(const std::vector<int32_t>& prompt, int64_t count, const SampleOptions& options,
             const std::function<void(int32_t)>& take);

 private:
  Session& stepping();
  Session& over_windows();
  std::span<const double> after_step(int32_t token, int64_t place);
  std::span<const double> after_window(std::span<const int32_t> tokens);

  RunModel model_;
  const Task task_;
  const int64_t context_;
  const Graph window_graph_;
  const int64_t vocabulary_;
  const ParameterSpace space_;              // that of the whole model, which both programs share
  std::unique_ptr<Session> step_, window_;  // made when they are needed
  std::vector<double> logits_;
};

}  // namespace kb
