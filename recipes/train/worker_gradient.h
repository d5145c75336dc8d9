// Computes gradients of workers that have parameters of their own (policies async, stale and backup): the samples of a
// piece are read, and the worker's program leaves the gradient in the worker's store.
#pragma once
#include <vector>

#include "recipes/train/feed.h"
#include "recipes/train/parts.h"

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

}  // namespace kb
