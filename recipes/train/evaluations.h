// Evaluations in the course of a training, and the test part at the end of one that held out samples.
#pragma once
#include "recipes/train/evaluate.h"
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

class Evaluations {
 public:
  // Both must outlive it.
  Evaluations(const LoopParts& parts, const Instruments& instruments);

  // Takes a line of the metrics of a run that goes on: the last evaluation may be of the state that it goes on from.
  void restore(const FlatJson& line);

  bool is_due(int64_t done) const;
  // Whether the state after `done` steps was evaluated.
  bool has(int64_t done) const { return evaluated_at_ == done; }
  // Evaluates the state after `done` steps, all of them reported. False with `may_stop` where the run is asked to stop
  // meanwhile: the evaluation is then left.
  bool run(int64_t done, double train_seconds, bool may_stop);
  // Evaluates the final state on the test part, where evaluations are of samples that were held out.
  void test(int64_t done);

  void tell(LoopResult& result) const;

 private:
  std::optional<Evaluator> averaged_evaluator(const Source& source, const char* word) const;

  const LoopParts& parts_;
  const Instruments& instruments_;
  Evaluator evaluator_;
  std::optional<Evaluator> averaged_evaluator_;
  std::optional<Evaluation> evaluation_, averaged_;  // the last
  const char* part_;                                 // the part of the data that they evaluate
  int64_t evaluated_at_ = -1;                        // steps done at the last evaluation
  double evaluated_seconds_ = 0;                     // seconds of training at the last evaluation
};

}  // namespace kb
