// An ordered training on several processes (policies async, stale and backup): rank 0 serves, and rank w + 1 computes
// the gradients of worker w. A worker is sent parameters and the number of a piece of the minibatches; it sends back
// the gradient, its running statistics, the loss and the training metrics. The messages' sizes follow from the
// programs.
#pragma once
#include <vector>

#include "recipes/train/parts.h"

namespace kb {

// Returns the bytes of the two messages of a gradient: of its parameters and of the gradient.
int64_t bytes_of_messages(const LoopParts& parts);

// The side of rank 0. Workers that compute have a message under way to it.
class GradientServer {
 public:
  // Every other process calls compute_gradients(). Both must outlive this object.
  GradientServer(const LoopParts& parts, Communicator& team);
  // Waits for the gradients under way, which are lost, and ends the workers, unless an exception is passing.
  ~GradientServer();
  GradientServer(const GradientServer&) = delete;
  GradientServer& operator=(const GradientServer&) = delete;

  // Sends a worker the parameters in its store, and the piece of which it is to compute a gradient there.
  void start(int64_t worker, int64_t piece);

  // A gradient that has come, which is in the store of its worker; its loss and its training metrics.
  struct Arrived {
    int64_t worker = 0;
    std::vector<double> figures;
  };
  // Waits for the next gradient. If its process was asked to stop, the training is, too.
  Arrived next();

 private:
  struct Worker {
    std::vector<std::byte> work, gradient;  // messages to it and from it
    int handle = 0;
    bool computes = false;
  };
  size_t arrived();

  const LoopParts& parts_;
  Communicator& team_;
  std::vector<Worker> workers_;
};

// The side of every other process: computes gradients until rank 0 ends it.
void compute_gradients(const LoopParts& parts, Communicator& team);

}  // namespace kb
