// Ends a training whose values are no longer finite, tells which op made the first such value if that can be found, and
// what may help. The guard tests the training loss of every step, the loss of every evaluation, and the state after the
// first step and before a model is saved. With judging.check_finite it tests every value of a step before the step is
// taken.
#pragma once
#include "recipes/train/finite_check.h"
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

// The overridden functions throw Fault if they find a value that is not finite.
class FiniteGuard : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit FiniteGuard(const LoopParts& parts);

  bool acts_before(int64_t) const override { return parts_.config.judging.check_finite; }
  void before(int64_t step) override;
  void stepped(const ReportedStep& reported) override;
  void evaluated(const ReportedEvaluation& reported) override;
  void keeps_model(int64_t done) override;

 private:
  FiniteCheck& check(int64_t step);
  bool is_first(int64_t step) const { return step == parts_.start.step; }
  std::string found_by_any(std::string own);
  std::optional<std::string> fault_of_samples(int64_t updates);
  std::string maker_in_first_step();
  [[noreturn]] void refuse_step(int64_t step, const std::string& maker);
  [[noreturn]] void refuse_loss(double loss, int64_t step);
  [[noreturn]] void refuse_state(const std::string& fault, int64_t updates);

  const LoopParts& parts_;
  // Made when they are first needed, by phase of the plan and bucket.
  std::map<std::pair<size_t, size_t>, std::unique_ptr<FiniteCheck>> checks_;
};

}  // namespace kb
