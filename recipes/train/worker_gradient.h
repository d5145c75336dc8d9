// Computes gradients of workers that have parameters of their own (policies async, stale and backup): the samples of a
// piece are read, and the worker's program leaves the gradient in the worker's store. Another program applies them.
#pragma once
#include <vector>

#include "compiler/pipeline/pipeline.h"
#include "recipes/train/feed.h"
#include "recipes/train/parts.h"
#include "runtime/session.h"

namespace kb {

class WorkerGradient {
 public:
  // `parts` must outlive this object.
  explicit WorkerGradient(const LoopParts& parts);

  // Computes the gradient of a worker on a piece of the minibatches. Returns its loss and training metrics, valid until
  // the next call.
  const std::vector<double>& compute(int64_t worker, int64_t piece);
  size_t figures() const { return figures_.size(); }  // number of the loss and the metrics
  double wait_ms() const { return wait_ms_; }         // time in ms that the last call took to read the samples

 private:
  const LoopParts& parts_;
  HostBatch batch_;
  const FieldFill fill_;
  std::vector<double> figures_;
  double wait_ms_ = 0;
  std::vector<double> value_;  // the output that is being read
};

// The program that applies gradients which other programs have computed, each at parameters of its own (asynchronous
// training, backup workers). It is a training step whose loss is the sum over parameters of the parameter times the
// gradient that is given, which therefore is the gradient that the optimizer takes; so any optimizer, clipping and
// averages work in it as in a synchronous step. Its virtual workers are the gradients of one update.

// Returns the graph of an update by the mean of `gradients` gradients, for parameters and running statistics of the
// step `training`, whose groups these are. The inputs have the names that StateStore::views() gives to the slots of
// kept_gradient_rule() (optim/kept_gradient.h), and own_name() of running statistics (recipes/train/join.h). It is
// compiled by options_over() `gradients` workers.
Graph apply_graph(const Compiled& training, const std::vector<ParameterGroup>& groups, int64_t gradients);

// Does the part of an update of the gradient that `worker` keeps, number `number` among those of the update. The last
// one's part ends the update.
void apply_gradient(Session& apply, const StateStore& worker, int64_t number);

}  // namespace kb
