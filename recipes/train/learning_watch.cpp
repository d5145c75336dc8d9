#include "recipes/train/learning_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kb {
namespace {

// A loss above this multiple of the first loss, and of ln K, shows that a run diverges.
constexpr double kDiverged = 1000;
// A mean loss of at least this share of ln K is no better than guessing among K classes.
constexpr double kAtGuess = 0.98;
// An error of at least this share of 1 - 1/K is no better than guessing. The margin is wide, because errors on a small
// test set scatter.
constexpr double kGuessError = 0.9;
constexpr int64_t kFewest = kFewestJudged;  // fewest steps that are judged together
constexpr int64_t kMostUnevaluated = 1000;  // after this many steps without an evaluation the loss alone is judged

}  // namespace

LearningWatch::LearningWatch(int64_t classes, int64_t warmup, std::vector<int64_t> test_counts, std::string part)
    : guess_(std::log(static_cast<double>(classes))),
      classes_(classes),
      warmup_(warmup),
      test_counts_(std::move(test_counts)),
      part_(std::move(part)) {}

bool LearningWatch::passed_step(int64_t step, double loss) {
  if (!first_loss_) first_loss_ = loss;
  has_loss_of_start_ = has_loss_of_start_ || step == 0;
  if (told_diverging_ || *first_loss_ <= 0 || !(loss > kDiverged * std::max(*first_loss_, guess_))) return false;
  told_diverging_ = is_diverging_ = true;
  return true;
}

std::string LearningWatch::step(int64_t step, double loss, double lr) {
  if (passed_step(step, loss))
    return fmt::format(
        "NOTE: the training loss is {:.4g} at step {}, over 1,000 times the first, {:.4g}: the run diverges\n"
        "  check: learning.lr, which is {:.4g} there: a tenth of it, or a longer warmup (learning.warmup_epochs)",
        loss, step, *first_loss_, lr);
  if (step < warmup_) return "";
  loss_sum_ += loss;
  ++losses_;
  // The mean loss must be close to ln K from both sides: losses of other kinds than cross-entropy rarely are.
  const bool is_at_guess = std::abs(loss_sum_ / static_cast<double>(losses_) / guess_ - 1) < 1 - kAtGuess;
  if (losses_ < kMostUnevaluated) return "";
  const std::string note = is_at_guess ? guessing_note(step + 1) : "";
  loss_sum_ = 0;
  losses_ = 0;
  return note;
}

std::string LearningWatch::evaluation(int64_t done, bool in_first_epoch, double error, int64_t count) {
  std::string note;
  const double guess_error = 1 - 1 / static_cast<double>(classes_);
  if (losses_ >= kFewest) {
    if (classes_ > 0 && loss_sum_ / static_cast<double>(losses_) >= kAtGuess * guess_ &&
        error >= kGuessError * guess_error)
      note = guessing_note(done);
    loss_sum_ = 0;
    losses_ = 0;
  }
  if (const std::string one_class = one_class_note(done, error, count); !one_class.empty())
    note += (note.empty() ? "" : "\n") + one_class;
  if (in_first_epoch && done > 0 && error == 0 && !told_perfect_) {
    told_perfect_ = true;
    note += fmt::format(
        "{}NOTE: not one of {} {} samples is wrong in the first epoch\n"
        "  check: that {} labels differ from each other, and that images do not hold their labels; data that are as "
        "easy as that are rare",
        note.empty() ? "" : "\n", count, part_, part_);
  }
  return note;
}

std::string LearningWatch::epoch(int64_t number, int64_t done, int64_t steps, double mean_loss) {
  if (done - steps < warmup_ || done < warmup_ + kPlateau) return "";
  if (!has_loss_of_start_ || *first_loss_ <= 0) return "";
  is_diverging_ = !(mean_loss < kLearningShare * *first_loss_);
  if (!is_diverging_) return "";
  return fmt::format(
      "the mean training loss of epoch {} is {:.4g}, no better than {} x that of step 0, which is {:.4g}", number,
      mean_loss, kLearningShare, *first_loss_);
}

// Returns a note if the number of right samples equals that of one class: this class is probably predicted for all
// samples.
std::string LearningWatch::one_class_note(int64_t done, double error, int64_t count) {
  if (told_one_class_ || done < kFewestJudged) return "";
  const int64_t right = count - std::llround(error * static_cast<double>(count));
  const auto at = std::find(test_counts_.begin(), test_counts_.end(), right);
  if (at == test_counts_.end() || right == 0) return "";
  told_one_class_ = true;
  return fmt::format(
      "NOTE: {} of {} {} samples are right after {} steps: as many as class {} has, so one class is predicted for "
      "all, as it seems\n"
      "  check: learning.lr, which may be far too large or too small, and that training labels differ from each other",
      right, count, part_, done, at - test_counts_.begin());
}

std::string LearningWatch::guessing_note(int64_t done) {
  if (std::exchange(told_guessing_, true)) return "";
  return fmt::format(
      "NOTE: nothing is learned: after {} steps{} the training loss is {:.4g}, the mean of {} steps, and guessing "
      "among "
      "{} classes has ln {} = {:.4g}\n"
      "  check: that labels belong to their images; that learning.lr is not far too small, or was so large that no "
      "ReLU is "
      "active any more; that the loss reads the logits, without a softmax before it",
      done, warmup_ > 0 ? fmt::format(", {} of them warmup,", warmup_) : "", loss_sum_ / static_cast<double>(losses_),
      losses_, classes_, classes_, guess_);
}

}  // namespace kb
