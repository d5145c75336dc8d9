// Whether a run learns, by its losses and errors: what is odd is told once, in words.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace kb {

class LearningWatch {
 public:
  // `warmup`: steps. `first_loss`: of step 0, where that was taken before.
  LearningWatch(int64_t classes, int64_t warmup, std::optional<double> first_loss);

  // A NOTE, or empty. Of every step, in order.
  std::string step(int64_t step, double loss, double lr);
  // Returns a NOTE, or empty, about an evaluation after `done` steps, in the first epoch or not.
  // `error`: fraction of `count` test samples that are classified wrongly.
  std::string evaluation(int64_t done, bool in_first_epoch, double error, int64_t count);

  bool is_diverging() const { return told_diverging_; }

 private:
  std::string guessing_note(int64_t done);

  const double guess_;  // the loss of guessing, with equal weight on each class: ln K
  const int64_t classes_, warmup_;
  std::optional<double> first_loss_;
  double loss_sum_ = 0;  // of the steps behind the warmup that were not judged yet
  int64_t losses_ = 0;
  bool told_guessing_ = false, told_diverging_ = false, told_perfect_ = false;
};

}  // namespace kb
