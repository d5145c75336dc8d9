// An instrument watches a training: it adds figures of its own to what is reported, tells notes, keeps states, or asks
// the training to end. Each is a file of its own, and a row in instruments.cpp; the loop knows no instrument by name.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipes/train/loop_result.h"
#include "recipes/train/observer.h"
#include "runtime/flat_json.h"

namespace kb {

// A step that was taken and whose results were read.
struct ReportedStep {
  const StepMetrics& metrics;
  int age = 0;               // steps that were taken after it: its gradient is there no more unless this is 0
  double train_seconds = 0;  // seconds of training in this process so far, without evaluations
};

// An evaluation in the course of a training, which the observer has been told.
struct ReportedEvaluation {
  int64_t done = 0;  // steps done
  const Evaluation& evaluation;
  const std::optional<Evaluation>& averaged;  // evaluates the averaged parameters; nothing where there are none
  bool is_due = true;  // false: it was made because the run stops here, and is no part of the run once it goes on
};

// The evaluation of the test part at the end of a training that held out samples.
struct ReportedTest {
  int64_t done = 0;              // steps done
  const Evaluation& evaluation;  // evaluates the final parameters
  Evaluator& evaluator;          // evaluates the store's parameters on the test part
};

// Hint for a person whose training diverged after an update.
inline constexpr const char* kLowerRate = "a smaller learning.lr, or a longer learning.warmup_epochs";

// The fault by which a training diverges. Thrown where a value is not finite: nothing more is done with such a state.
struct Fault {
  std::string what;          // "the loss is not a number"
  int64_t step = 0;          // updates that were made before
  std::string maker;         // the op that made the value; empty: it is not known
  std::string hint;          // advice for a person
  bool keeps_state = false;  // the state after `step` steps is finite, and is saved before the training ends
};

// Wish that a training ends before its plan is done.
struct EndWish {
  std::optional<Fault> fault;  // the training ends as diverged by it; none: it ends as finished
};

// Functions are called by the thread that trains, in every process alike, in the order in which they stand here. They
// do nothing unless they are overridden. All that an instrument knows of steps before the first follows from restore().
class Instrument {
 public:
  Instrument() = default;
  virtual ~Instrument() = default;
  Instrument(const Instrument&) = delete;
  Instrument& operator=(const Instrument&) = delete;

  // Takes a line of the metrics of a run that goes on, all lines before anything else.
  virtual void restore(const FlatJson&) {}
  virtual void restored() {}

  // Does something before step `step`, where acts_before() says so; all steps before that one are reported first.
  virtual bool acts_before(int64_t) const { return false; }
  virtual void before(int64_t) {}
  // True where the step has to be reported before another one is begun.
  virtual bool reads_at_once(int64_t) const { return false; }
  // Adds its figures to the report of a step that was taken `age` steps ago.
  virtual void add_to_step(StepMetrics&, int) {}
  // After the observer was told of the step.
  virtual void stepped(const ReportedStep&) {}

  // Adds its figures to the report of an epoch that ends.
  virtual void add_to_epoch(EpochMetrics&) {}
  virtual void epoch_ended() {}

  virtual void evaluation_begins() {}
  // Adds its figures to the report of an evaluation.
  virtual void add_to_evaluation(EvaluationReport&) {}
  virtual void evaluated(const ReportedEvaluation&) {}
  // Before the parameters after `done` steps are kept as the model.
  virtual void keeps_model(int64_t) {}

  // Writes its own part of a checkpoint of the state after cursor.step steps.
  virtual void state(CheckpointCursor&) {}
  // Asked after `done` steps, once all that belongs to them is done.
  virtual std::optional<EndWish> wants(int64_t) { return std::nullopt; }

  virtual void tested(const ReportedTest&) {}
  // Writes its own part of the result; result.ending and result.steps are set.
  virtual void tell(LoopResult&) const {}
};

using Instruments = std::vector<std::unique_ptr<Instrument>>;

}  // namespace kb
