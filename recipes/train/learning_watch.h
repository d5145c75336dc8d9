// Whether a run learns, by its losses and errors: what is odd is told once, in words.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kb {

// An epoch's mean training loss has to be below this share of the loss of step 0, or the run diverged.
inline constexpr double kLearningShare = 0.98;
// Least number of steps that are judged together, because the losses of small minibatches scatter.
inline constexpr int64_t kFewestJudged = 50;
// Steps after the warmup before whose end no epoch is judged: a network may stand on a plateau first, which is a whole
// epoch of a large minibatch. LeNet on MNIST at kn 1024 has a mean loss of 2.30 over its first epoch, of 56 steps, 0.96
// over its second and 0.17 over its third.
inline constexpr int64_t kPlateau = 200;

class LearningWatch {
 public:
  // `warmup`: steps. `test_counts`: samples of each class in the part that is evaluated, whose name is `part`; empty
  // where they are not known.
  LearningWatch(int64_t classes, int64_t warmup, std::vector<int64_t> test_counts = {}, std::string part = "test");

  // Takes a step that was told before the run was stopped; steps come in order. Returns whether the run diverges from
  // it on, as it has not before.
  bool passed_step(int64_t step, double loss);
  // Takes the next step. Returns a NOTE, or empty.
  std::string step(int64_t step, double loss, double lr);
  // Returns a NOTE, or empty, about an evaluation after `done` steps, in the first epoch or not.
  // `error`: fraction of `count` evaluated samples that are classified wrongly.
  std::string evaluation(int64_t done, bool in_first_epoch, double error, int64_t count);

  // Judges a whole epoch, the `number`th, that ends after `done` steps, `steps` of them its own, by its mean training
  // loss. Returns why the run diverged, or empty. An epoch that began in the warmup is not judged, nor one that ends
  // less than kPlateau steps after it, nor any where the loss of step 0 is not known or not > 0.
  std::string epoch(int64_t number, int64_t done, int64_t steps, double mean_loss);

  // True from a loss over 1,000 times the first on, or from an epoch that was judged as diverged, until an epoch is
  // judged as none.
  bool is_diverging() const { return is_diverging_; }

 private:
  std::string guessing_note(int64_t done);
  std::string one_class_note(int64_t done, double error, int64_t count);

  const double guess_;  // the loss of guessing, with equal weight on each class: ln K
  const int64_t classes_, warmup_;
  const std::vector<int64_t> test_counts_;
  const std::string part_;
  std::optional<double> first_loss_;  // loss of the first step that was seen
  bool has_loss_of_start_ = false;    // that step is step 0
  double loss_sum_ = 0;               // sum of losses of the steps after the warmup that were not judged yet
  int64_t losses_ = 0;
  bool is_diverging_ = false;
  bool told_guessing_ = false, told_diverging_ = false, told_perfect_ = false, told_one_class_ = false;
};

}  // namespace kb
