// An instrument watches a training: it adds figures to the reports, gives notes to the observer, keeps states, or asks
// the training to end. Each instrument has a file of its own and a row in instruments.cpp. The training loop knows only
// this interface.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/train/loop_result.h"
#include "recipes/train/observer.h"
#include "runtime/flat_json.h"

namespace kb {

// The outputs of a step that was taken.
struct StepOutputs {
  const Session& session;  // the program that took the step
  int age = 0;             // number of steps that this program has taken since
  bool is_last = true;     // whether no program has taken one since; only then can the step's gradient be read

  double scalar(std::string_view output) const { return session.read_scalar(output, age); }
};

// A step that was taken and whose results were read.
struct ReportedStep {
  const StepMetrics& metrics;
  const StepOutputs& outputs;
  double train_seconds = 0;  // seconds of training in this process so far, without evaluations
};

// An evaluation in the course of a training, after the observer was told of it.
struct ReportedEvaluation {
  int64_t done = 0;  // steps done
  const Evaluation& evaluation;
  const std::optional<Evaluation>& averaged;  // evaluates the averaged parameters; nothing where there are none
  // False for an evaluation that was made only because the run is interrupted here. If the run is resumed, that
  // evaluation is no part of it.
  bool is_due = true;
};

// The evaluation of the test part at the end of a training that held out samples.
struct ReportedTest {
  int64_t done = 0;              // steps done
  const Evaluation& evaluation;  // evaluates the final parameters
  Evaluator& evaluator;          // evaluates the store's parameters on the test part
};

// Hint for a person whose training diverged after an update.
inline constexpr const char* kLowerRate = "a smaller learning.lr, or a longer learning.warmup_epochs";

// The reason why a training has diverged. It is thrown when a value is not finite, since nothing can be done with such
// a state.
struct Fault {
  std::string what;          // the symptom, such as "the loss is not a number"
  int64_t step = 0;          // number of updates made before
  std::string maker;         // the op that made the value; empty if it is unknown
  std::string hint;          // advice for a person
  bool keeps_state = false;  // the state after `step` steps is finite, and is saved before the training ends
};

// Wish that a training ends before its plan is done.
struct EndWish {
  std::optional<Fault> fault;  // if set, the training ends as diverged for this reason, else as finished
};

// The thread that trains calls the functions, alike in every process and in the order of their declarations. They do
// nothing unless they are overridden. When a run is resumed, restore() tells an instrument about the earlier steps.
class Instrument {
 public:
  Instrument() = default;
  virtual ~Instrument() = default;
  Instrument(const Instrument&) = delete;
  Instrument& operator=(const Instrument&) = delete;

  // Takes a line of the metrics of a run that is resumed. It is called for every line before any other function.
  virtual void restore(const FlatJson&) {}
  virtual void restored() {}  // called once after the last line, also if there is none

  // before() is called before a step for which acts_before() returns true, once all earlier steps have been reported.
  virtual bool acts_before(int64_t) const { return false; }
  virtual void before(int64_t) {}
  // Returns true if the step must be reported before the next one begins.
  virtual bool reads_at_once(int64_t) const { return false; }
  // Adds figures to the report of a step that was taken.
  virtual void add_to_step(StepMetrics&, const StepOutputs&) {}
  // Called after the observer was told of the step.
  virtual void stepped(const ReportedStep&) {}

  // Adds figures to the report of an epoch that ends.
  virtual void add_to_epoch(EpochMetrics&) {}
  virtual void epoch_ended() {}

  virtual void evaluation_begins() {}
  // Adds figures to the report of an evaluation.
  virtual void add_to_evaluation(EvaluationReport&) {}
  virtual void evaluated(const ReportedEvaluation&) {}
  // Called before the parameters are saved as the model. The argument is the number of steps done.
  virtual void keeps_model(int64_t) {}

  // Sets the instrument's members of the cursor of a checkpoint, which is of the state after cursor.step steps.
  virtual void state(CheckpointCursor&) {}
  // Returns a wish to end the training here. It is called before every step with the number of steps done, when their
  // evaluation and checkpoint have been made, too.
  virtual std::optional<EndWish> wants(int64_t) { return std::nullopt; }

  virtual void tested(const ReportedTest&) {}
  // Sets the instrument's members of the result, in which `ending` and `steps` are set already.
  virtual void tell(LoopResult&) const {}
};

using Instruments = std::vector<std::unique_ptr<Instrument>>;

}  // namespace kb
