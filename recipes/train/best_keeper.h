// Remembers which state of a training was the best. If samples are held out and there is a test part, it also keeps
// that state's model, which is evaluated on the test part at the end.
#pragma once
#include <vector>

#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

class BestKeeper : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit BestKeeper(const LoopParts& parts) : parts_(parts) {}

  // Returns the goal's figure in the best state; nothing before the first evaluation, or if the task has no metrics.
  std::optional<Figure> figure() const;

  void restore(const FlatJson& line) override;
  void restored() override;
  void evaluated(const ReportedEvaluation& reported) override;
  void state(CheckpointCursor& cursor) override { cursor.is_best = best_ && best_->step == cursor.step; }
  void tested(const ReportedTest& reported) override;
  void tell(LoopResult& result) const override { result.best = best_; }

 private:
  bool holds_model() const { return parts_.task.valid && parts_.task.test; }
  bool take(const Evaluation& evaluation, int64_t done);
  Evaluation evaluate_model(Evaluator& evaluator);

  const LoopParts& parts_;
  std::optional<BestState> best_;
  std::vector<NamedTensor> model_;  // parameters and running statistics of the best state; empty if they are not kept
};

}  // namespace kb
