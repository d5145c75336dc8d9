// Ends a training whose values are no longer finite: losses, evaluations and the state are looked at, with
// judging.check_finite every value of a step before it is taken. Says which op made the first such value, and what may
// help.
#pragma once
#include "recipes/train/finite_check.h"
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

// Its functions throw Fault.
class FiniteGuard : public Instrument {
 public:
  // `parts` must outlive it.
  explicit FiniteGuard(const LoopParts& parts);

  bool acts_before(int64_t) const override { return parts_.config.judging.check_finite; }
  void before(int64_t step) override;
  void stepped(const ReportedStep& reported) override;
  void evaluated(const ReportedEvaluation& reported) override;
  void keeps_model(int64_t done) override;

 private:
  FiniteCheck& check();
  bool is_first(int64_t step) const { return step == parts_.start.step; }
  std::string found_by_any(std::string own);
  std::optional<std::string> fault_of_samples(int64_t updates);
  std::string maker_in_first_step();
  [[noreturn]] void refuse_step(int64_t step, const std::string& maker);
  [[noreturn]] void refuse_loss(double loss, int64_t step);
  [[noreturn]] void refuse_state(const std::string& fault, int64_t updates);

  const LoopParts& parts_;
  std::unique_ptr<FiniteCheck> check_;  // works for one phase; null: it was not needed yet
  size_t phase_ = 0;                    // phase of the plan that the check works for
};

}  // namespace kb
