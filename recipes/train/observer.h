// Events of a training. A console, a run folder and a picture are observers of a run; a program may have its own.
#pragma once
#include <optional>
#include <string>

#include "recipes/config/dump.h"
#include "recipes/train/evaluate.h"
#include "recipes/train/metrics.h"
#include "recipes/train/progress.h"
#include "runtime/checkpoint.h"
#include "runtime/session.h"

namespace kb {

struct LoopResult;
struct LoopStart;
struct Ready;
struct Settled;
struct Task;

// An evaluation in the course of a training.
struct EvaluationReport {
  int64_t step = 0;  // steps done
  double epoch = 0;  // epochs done
  Evaluation evaluation;
  std::optional<Evaluation> averaged;    // evaluation of the averaged parameters, if they are evaluated
  std::optional<Evaluation> training;    // means over the steps since the last evaluation; none: there were none
  double train_seconds = 0;              // seconds of training so far, without evaluations
  const char* part = kTestPart;          // part of the data that was evaluated
  std::optional<double> lr = {};         // learning rate of the step before
  std::optional<double> gain = {};       // gain of the step before, with AdaScale
  double seconds = 0;                    // seconds of training since the last evaluation
  std::optional<NoiseScale> noise = {};  // set with judging.noise_scale
  std::span<const DrawnImages> drawings = {};
};

// An evaluation of the test part at the end of a training that held out samples (Task::valid).
struct TestReport {
  int64_t step = 0;      // steps done
  double epoch = 0;      // epochs done
  bool is_best = false;  // the best state by the samples held out; else the final one
  Evaluation evaluation;
  std::optional<Evaluation> averaged;  // evaluation of the averaged parameters, if they are evaluated
};

// A training that diverged and does not go on: a value is not finite, or it learns nothing.
struct Failure {
  int64_t step = 0;
  double learning_rate = 0;
  std::string reason;
  int64_t saved_at = -1;  // steps done at the last save_model; -1: there was none
};

// All functions are called by the thread that trains, in every process of a run, and do nothing unless they are
// overridden. They may throw Error, which ends the training.
class Observer {
 public:
  virtual ~Observer() = default;

  // Before the first step, in this order.
  virtual std::vector<Dump> wants_dumps() { return {}; }  // texts of the compiler, for Ready::programs
  virtual void settled(const Task&, const Settled&) {}    // the data are read; the programs may not be compiled yet
  // All is ready for the first step. May set where the training begins, in place of the state that train() was given.
  // Returns false to end the training without a step.
  virtual bool ready(const Ready&, LoopStart&) { return true; }

  virtual void note(const std::string&) {}  // a line for a person
  virtual bool wants_progress() { return false; }
  virtual void progress(const Progress&) {}  // between two steps, where wants_progress() says so
  virtual void step(const StepMetrics&) {}
  virtual void layers(const LayerNorms&) {}
  virtual bool wants_histograms() { return false; }
  virtual void histograms(const LayerHistograms&) {}  // called after layers() if wants_histograms() returns true
  virtual void epoch(const EpochMetrics&) {}          // at the end of an epoch, before an evaluation there
  virtual void evaluation_begins(double) {}           // told how many epochs are done
  virtual void evaluated(const EvaluationReport&) {}
  virtual void tested(const TestReport&) {}
  virtual void save_model(int64_t) {}  // the parameters after so many steps are those that were evaluated last
  virtual void save_checkpoint(const CheckpointCursor&) {}
  // True for a step that is to be timed part by part; profile_begins() and profiled() are then called around it, with
  // the step.
  virtual bool wants_profile(int64_t) { return false; }
  virtual void profile_begins(int64_t) {}
  virtual void profiled(int64_t, const Session&, const Profile&) {}
  // After every step. Asks the training to end, in all processes after the same step: at once where there is one, as
  // soon as the others have heard of it where there are several. Its checkpoint is made.
  virtual bool wants_to_stop() { return false; }
  // At the end: waits for files that are being written, and throws what writing them met.
  virtual void finish() {}
  // After the last event, while the programs are still there.
  virtual void ended(const Ready&, const LoopResult&) {}
  // Returns what is kept of the run, for a person.
  virtual std::string failed(const Failure&) { return "nothing"; }
};

}  // namespace kb
