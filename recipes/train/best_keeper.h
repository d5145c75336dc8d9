// Keeps the best state of a training: which it is, and where samples are held out its model, for the test part.
#pragma once
#include <vector>

#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

class BestKeeper : public Instrument {
 public:
  // `parts` must outlive it.
  explicit BestKeeper(const LoopParts& parts) : parts_(parts) {}

  // Returns nothing before the first evaluation, and if its metric has no goal.
  std::optional<Figure> figure() const;

  void restore(const FlatJson& line) override;
  void restored() override;
  void evaluated(const ReportedEvaluation& reported) override;
  void state(CheckpointCursor& cursor) override { cursor.is_best = best_ && best_->step == cursor.step; }
  void tested(const ReportedTest& reported) override;
  void tell(LoopResult& result) const override { result.best = best_; }

 private:
  bool keeps_model() const { return parts_.task.valid && parts_.task.test; }
  bool take(const Evaluation& evaluation, int64_t done);
  Evaluation evaluate_model(Evaluator& evaluator);

  const LoopParts& parts_;
  std::optional<BestState> best_;
  std::vector<NamedTensor> model_;  // parameters and running statistics of that state; empty: they are not kept
};

}  // namespace kb
