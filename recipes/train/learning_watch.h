// Judges from its losses and errors whether a run learns. Each kind of oddity is told once, as a NOTE for a person.
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
// Epochs that end less than this many steps after the warmup are not judged: a network may stay on a plateau at first,
// for a whole epoch if the minibatch is large. LeNet on MNIST with minibatches of 1024 has a mean loss of 2.30 over its
// first epoch (of 56 steps), 0.96 over its second and 0.17 over its third.
inline constexpr int64_t kPlateau = 200;

class LearningWatch {
 public:
  // `warmup`: steps of the warmup. `part`: name of the part of the data that is evaluated. `test_counts`: numbers of
  // its samples in each class; empty if they are unknown.
  LearningWatch(int64_t classes, int64_t warmup, std::vector<int64_t> test_counts = {}, std::string part = "test");

  // Takes the next step of those before a resume, without notes. Returns true if this step is the first to show that
  // the run diverges.
  bool passed_step(int64_t step, double loss);
  // Takes the next step. Returns a NOTE; empty if there is nothing to tell.
  std::string step(int64_t step, double loss, double lr);
  // Returns a NOTE about an evaluation after `done` steps; empty if there is nothing to tell. `error`: fraction of the
  // `count` evaluated samples that are classified wrongly.
  std::string evaluation(int64_t done, bool in_first_epoch, double error, int64_t count);

  // Judges epoch `number`, which has `steps` steps and ends after `done` steps, by its mean training loss. Returns why
  // the run diverged; empty if it did not. An epoch is not judged if it began during the warmup, if it ends less than
  // kPlateau steps after the warmup, or if the loss of step 0 is unknown or not above 0.
  std::string epoch(int64_t number, int64_t done, int64_t steps, double mean_loss);

  // Returns true after a loss that exceeds 1,000 times the larger of the first loss and ln K, and after an epoch that
  // was judged as diverged, until a later epoch is judged as not diverged.
  bool is_diverging() const { return is_diverging_; }

 private:
  std::string guessing_note(int64_t done);
  std::string one_class_note(int64_t done, double error, int64_t count);

  const double guess_;  // cross-entropy of guessing among K equally likely classes: ln K
  const int64_t classes_, warmup_;
  const std::vector<int64_t> test_counts_;
  const std::string part_;
  std::optional<double> first_loss_;  // loss of the first step that was seen
  bool has_loss_of_start_ = false;    // true if step 0 was seen, so that first_loss_ is its loss
  double loss_sum_ = 0;               // sum of losses of the steps after the warmup that are not judged yet
  int64_t losses_ = 0;                // number of these losses
  bool is_diverging_ = false;
  bool told_guessing_ = false, told_diverging_ = false, told_perfect_ = false, told_one_class_ = false;
};

}  // namespace kb
