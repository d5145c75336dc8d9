// Sequences that a run's model writes for others, by beam search: translations, numbers in words.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "recipes/models/run_model.h"
#include "recipes/task/task.h"

namespace kb {

struct SequencePairs;

struct TranslateOptions {
  int64_t beams = 4;            // beginnings that are kept of each sentence; 1: greedy decoding
  double length_penalty = 0.6;  // alpha of Wu et al. 2016, eq. 14
  int64_t minibatch = 32;       // sentences that are written at once
};

// A run's model of sequences with its weights, on the CPU of this machine.
class Translator {
 public:
  // Loads the model; the arguments are those of RunModel and RunModel::load. Throws Error, too, unless the recipe's
  // task writes sequences (Task::sequences).
  Translator(const RunModelRequest& request, const std::optional<Recipe>& own,
             const std::function<void(const std::string&)>& say);

  const std::string& description() const { return model_.description; }
  const SequencePairs& pairs() const;  // the data of the run, with their tokenizers
  // Returns what the model writes for each sequence of tokens. A sequence gets at most twice the tokens of the longest
  // one that is written beside it, and ten. Sequences of about one length are written together.
  std::vector<std::vector<int32_t>> write(const std::vector<std::vector<int32_t>>& sources,
                                          const TranslateOptions& options);

 private:
  RunModel model_;
  const Task task_;
  ParameterSpace space_;  // that of the whole model, which the programs share
};

}  // namespace kb
