// The first training steps of a run, one virtual worker after another, with the samples that they read and the gradient
// of the last one.
#pragma once
#include <memory>
#include <vector>

#include "data/order.h"
#include "recipes/config/run_config.h"
#include "recipes/train/feed.h"
#include "recipes/train/run_schedule.h"
#include "recipes/train/settled.h"
#include "runtime/session.h"

namespace kb {

// Returns choices for the steps of a trace on one process, which has the virtual workers of all processes.
Settled settle_to_trace(const Task& task, const RunConfig& config, const Target& target);

class TracedSteps {
 public:
  // Compiles a program for each bucket that the steps draw from, and initialises the state. All must outlive this
  // object.
  TracedSteps(const Task& task, const Settled& settled, Backend& backend, StateStore& store, RunScalars& scalars);

  // Takes the step with this number, and returns its loss over the global minibatch.
  double take(int64_t step);
  // Return the fields that the last step read, "FIELD.STEP" [samples, ...], and the gradients of its parameters.
  std::vector<NamedTensor> batch() const { return read_; }
  std::vector<NamedTensor> gradients() const;
  // Returns parameters, running statistics and slots of the optimizer.
  std::vector<NamedTensor> state() const;
  // Returns the logits, in evaluation, of the samples of a step: "logits".
  NamedTensor logits(int64_t step) const;

  // Return the samples of a step, and the length to which its ragged fields are padded, 0 without ragged fields.
  int64_t minibatch(int64_t step) const { return order_.minibatch(step); }
  int64_t length(int64_t step) const;

 private:
  Compiled compiled(size_t bucket) const;
  void load_programs();
  void work(Session& session, int64_t step, int64_t worker);
  void keep(int64_t step);

  const Task& task_;
  const Settled& settled_;
  Backend& backend_;
  StateStore& store_;
  RunScalars& scalars_;
  const Order order_;
  FieldFill fill_;
  std::vector<std::unique_ptr<Session>> programs_;  // one a bucket; null: no step draws from it
  std::unique_ptr<HostBatch> batch_;
  std::vector<NamedTensor> read_;
};

}  // namespace kb
