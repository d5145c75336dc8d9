// The training loop: batches in, steps, evaluations, metrics out; how it ended.
#pragma once
#include <array>
#include <functional>
#include <span>

#include "compiler/overlap.h"
#include "data/loader.h"
#include "recipes/train/batch_norm_estimate.h"
#include "recipes/train/finite_check.h"
#include "recipes/train/layer_log.h"
#include "recipes/train/learning_watch.h"
#include "recipes/train/noise_log.h"
#include "recipes/train/parts.h"
#include "recipes/train/schedule_hash.h"

namespace kb {

enum class Ending : uint8_t { finished, interrupted, diverged };

// The evaluation that reached --target.
struct TargetReached {
  int64_t step = 0;     // steps done
  int64_t samples = 0;  // seen
  double epochs = 0;    // done
};

struct LoopResult {
  Ending ending = Ending::finished;
  int64_t steps = 0;                     // done
  bool is_cut = false;                   // by --stop-at
  std::optional<TargetReached> target;   // nothing: it was not reached, or none was asked for
  bool is_diverged = false;              // ended so, or as LearningWatch tells at the end
  std::string reason;                    // for a person: why a run that diverged did, what is kept, a hint; else empty
  double train_seconds = 0;              // without evaluations
  double host_seconds = 0;               // that taking the steps kept the host, data apart
  std::optional<Evaluation> evaluation;  // of the final parameters, on `part`
  std::optional<Evaluation> averaged;    // of the averaged ones, likewise
  const char* part = kTestPart;          // kValidPart where samples are held out and the run was stopped
  std::optional<BestState> best;         // by the evaluations in its course
  std::string schedule_state;            // at the end: RunSchedule::state()
  std::optional<double> iterations;      // done, scale-invariant ones, with AdaScale
};

class TrainingLoop {
 public:
  explicit TrainingLoop(LoopParts parts);

  // Steps until the plan is done, --stop-at or --target ends it or a signal asks to stop (World::begin): a step or an
  // evaluation that is under way is then left, where no process has begun what ends it, and has changed nothing.
  // model.safetensors holds the parameters that were evaluated last, at first those of the start. A checkpoint is made
  // at every evaluation, every --save-every steps, and at the end. Ends as diverged, in all processes after the same
  // step, where the loss or the state is not finite, and without --keep-going where a whole epoch behind the warmup has
  // a mean loss that is no better than kLearningShare of that of step 0 (not with --init, nor for noise). The op that
  // made the first value that is not finite is named where that is in the first step, and with --check-finite in any.
  // Throws Error where a file cannot be written.
  LoopResult run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Divergence {
    std::string text;
  };
  void loop();
  void open_phase();
  void grow();
  void open_loader();
  double next_batch();  // of the next virtual worker
  void begin();
  bool step(int64_t step);
  void work(int64_t step, int64_t worker);
  void report_until(int64_t end);
  void report(int64_t step);
  void log_layers(int64_t step, int age);
  double read(const std::string& output, int age);
  void after_step(int64_t done);
  void end_epoch(int64_t done);
  void judge_again(std::span<const double> losses);
  std::string epoch_fault(const StepSums& epoch, int64_t done);
  void judge_epoch(int64_t done);
  bool judges_epochs() const;
  bool evaluation_is_due(int64_t done) const;
  bool checkpoint_is_due(int64_t done) const;
  void evaluate(int64_t done, bool may_stop = true);
  void stop();
  std::optional<double> gain_of(int64_t step) const;
  std::optional<double> loss_scale(int age) const;
  std::optional<Evaluation> evaluate_averaged(bool may_stop);
  void note(const std::string& text);
  void note_best(const Evaluation& evaluation, int64_t done);
  void evaluate_test_part();
  Evaluation evaluate_with(const std::vector<NamedTensor>& model, Evaluator& evaluator);
  std::optional<Figure> best_figure() const;
  void judge_goals(const Evaluation& evaluation, int64_t done);
  void show_progress(const StepMetrics& metrics);
  // recipes/train/training_loop_faults.cpp. `updates`: made before.
  std::string found_by_any(std::string own);
  void check_before(int64_t step);
  void check_samples(const std::string& what, int64_t updates);
  std::string maker_in_first_step();
  [[noreturn]] void stop_at_loss(const char* what, double loss, int64_t updates, bool is_trained);
  [[noreturn]] void stop_at_state(const std::string& fault, int64_t updates);
  [[noreturn]] void stop_at_epoch(const std::string& fault, int64_t done);
  [[noreturn]] void fail(const std::string& what, int64_t step, const std::string& maker, const std::string& hint);
  void save_model(int64_t done);
  void save_checkpoint(int64_t done);

  struct Started {
    Clock::time_point at;
    double wait_ms = 0;
  };

  LoopParts parts_;
  std::vector<HostBatch> slots_;
  std::optional<Loader> loader_;  // none: one minibatch for all steps
  Evaluator evaluator_;
  std::optional<Evaluator> averaged_;
  int64_t end_;  // step at which the loop ends at the latest
  const LayerLog layers_;
  NoiseLog noise_;
  std::optional<BatchNormEstimate> batch_norm_;
  std::vector<double> value_, means_;  // an output that was read; the training metrics of the step
  std::optional<Profile> drawn_;       // of the step that was just taken
  ScheduleHash schedule_hash_;
  LearningWatch watch_;
  std::unique_ptr<FiniteCheck> check_;  // of every step before it is taken, where --check-finite asks
  LoopResult result_;
  std::array<Started, 2> started_;  // steps that may not have been reported, by number modulo 2
  int64_t reported_ = 0;            // steps whose loss was read: a device may be one ahead
  Clock::time_point last_done_ = {};
  StepSums sums_;
  StepSums epoch_, ended_epoch_;                      // of the epoch under way, of the one before
  double epoch_seconds_ = 0, evaluated_seconds_ = 0;  // train_seconds at the last end of an epoch, the last evaluation
  bool told_keep_going_ = false;                      // that the run goes on though it diverges
  int64_t evaluated_at_ = -1;                         // steps done at the last evaluation
  int64_t saved_at_ = -1;                             // steps done when model.safetensors was written
  int64_t checkpoint_at_ = -1;                        // steps done at the last checkpoint
};

}  // namespace kb
