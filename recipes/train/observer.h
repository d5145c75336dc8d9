// The interface through which a training reports its events. The command line observes its runs to fill the console and
// the run folder; a program may have observers of its own.
#pragma once
#include <string>

#include "recipes/config/dump.h"
#include "recipes/train/evaluate.h"
#include "recipes/train/evaluation.h"
#include "recipes/train/metrics.h"
#include "runtime/checkpoint.h"
#include "runtime/session.h"

namespace kb {

struct GradientRecord;
struct LoopResult;
struct LoopStart;
struct OrderPlan;
struct Ready;
struct Settled;
struct Task;

// The end of a training that diverged, because a value is not finite or because it learns nothing.
struct Failure {
  int64_t step = 0;          // steps done before
  double learning_rate = 0;  // learning rate of the step after those
  std::string reason;
  int64_t saved_at = -1;  // steps done at the last save_model(); -1 if there was none
};

// The thread that trains calls all functions, in every process of a run. They do nothing unless they are overridden,
// and may throw Error, which ends the training.
class Observer {
 public:
  virtual ~Observer() = default;

  // These three are called before the first step, in this order. wants_dumps() returns the texts of the compiler that
  // Ready::programs is to have. settled() is called when the data are read; programs may not be compiled yet.
  virtual std::vector<Dump> wants_dumps() { return {}; }
  virtual void settled(const Task&, const Settled&) {}
  // Called when everything is ready for the first step. May change the start, which is the state that was given to
  // train(). Returns false to end the training without a step.
  virtual bool ready(const Ready&, LoopStart&) { return true; }

  // Called in a training whose gradients an order applies: when the order is at the place where the training begins,
  // after so many decided gradients, and for each gradient that is decided then.
  virtual void order_begins(const OrderPlan&, int64_t) {}
  virtual void ordered(const GradientRecord&) {}

  virtual void ranks(const RanksReport&) {}  // called before an evaluation of a training on several processes
  virtual void note(const std::string&) {}   // takes a line for a person
  virtual bool wants_progress() { return false; }
  virtual void progress(const Progress&) {}  // called after each step if wants_progress() returns true
  virtual void step(const StepMetrics&) {}
  virtual void layers(const LayerNorms&) {}
  virtual bool wants_histograms() { return false; }
  virtual void histograms(const LayerHistograms&) {}  // called after layers() if wants_histograms() returns true
  virtual void epoch(const EpochMetrics&) {}          // called at the end of an epoch, before its evaluation
  virtual void evaluation_begins(double) {}           // takes the number of epochs done
  virtual void evaluated(const EvaluationReport&) {}
  virtual void tested(const TestReport&) {}
  virtual void save_model(int64_t) {}  // takes the steps done; called at the start and after each evaluation
  virtual void save_checkpoint(const CheckpointCursor&) {}
  // Returns true for a step whose parts are to be timed. profile_begins() is then called before the parts that are
  // timed, and profiled() after the step; both take the step's number.
  virtual bool wants_profile(int64_t) { return false; }
  virtual void profile_begins(int64_t) {}
  virtual void profiled(int64_t, const Session&, const Profile&) {}
  // Called after every step. Returns true to end the training with a checkpoint. One process alone ends at once;
  // several end after the same step, as soon as all have learned of the wish.
  virtual bool wants_to_stop() { return false; }
  // Returns whether the training's result shall have the state at its end, which is a copy of all that training keeps.
  virtual bool wants_state() { return true; }
  // Called at the end. Waits for files that are being written in the background, and throws the error of one that
  // failed.
  virtual void finish() {}
  // Called after all other functions, while the programs still exist.
  virtual void ended(const Ready&, const LoopResult&) {}
  // Called when the training has diverged. Returns a text for people about what is kept of the run.
  virtual std::string failed(const Failure&) { return "nothing"; }
};

}  // namespace kb
