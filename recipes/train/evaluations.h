// Makes the evaluations in the course of a training. If samples are held out, it also evaluates the final state on the
// test part.
#pragma once
#include "recipes/train/evaluate.h"
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

class Evaluations {
 public:
  // Both must outlive this object.
  Evaluations(const LoopParts& parts, const Instruments& instruments);

  // Takes a line of the metrics of a run that is resumed. If no step follows the last evaluation, that evaluation is of
  // the state with which the run continues.
  void restore(const FlatJson& line);

  bool is_due(int64_t done) const;
  // Returns whether the last evaluation is of the state after `done` steps.
  bool has(int64_t done) const { return evaluated_at_ == done; }
  // Evaluates the state after `done` steps, all of which have been reported. `train_seconds`: seconds of training so
  // far. Returns false if `may_stop` is set and the run is asked to stop meanwhile: the evaluation is then abandoned.
  bool run(int64_t done, double train_seconds, bool may_stop);
  // Evaluates the final state on the test part, if the evaluations so far were of held-out samples and there is one.
  void test(int64_t done);

  void tell(LoopResult& result) const;

 private:
  // Returns what evaluates a state of a phase of the plan by `programs` of each phase; nothing if there are none.
  std::optional<Evaluator> evaluator(const std::vector<Session*>& programs, size_t phase, const Source& source,
                                     const char* word) const;
  void use_phase(size_t phase);

  const LoopParts& parts_;
  const Instruments& instruments_;
  std::optional<size_t> judging_phase_;  // RunPlan::judging_phase of the evaluators
  std::optional<Evaluator> evaluator_, averaged_evaluator_;
  std::optional<Evaluation> evaluation_, averaged_;  // last evaluations: of the parameters, of their averages
  const char* part_;                                 // part of the data on which the last evaluations were made
  int64_t evaluated_at_ = -1;                        // steps done at the last evaluation
  double evaluated_seconds_ = 0;                     // seconds of training at the last evaluation
};

}  // namespace kb
