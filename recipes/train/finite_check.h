// Finds the op that made the first value that is not finite: it computes a step's losses and gradients once more, and
// looks at every value (compiler/passes/probe.h).
#pragma once
#include "recipes/train/feed.h"
#include "recipes/train/parts.h"
#include "recipes/train/programs.h"

namespace kb {

class FiniteCheck {
 public:
  // `parts` must outlive it.
  FiniteCheck(const LoopParts& parts, Backend& backend, CheckProgram program);

  // Computes the step for every virtual worker of this process, with the parameters as they are, and changes nothing.
  // Gives what made the first value that is not finite; empty where all are finite.
  std::string run(int64_t step);

 private:
  const LoopParts& parts_;
  const Probes probes_;
  Session session_;
  HostBatch slot_;
  FieldFill fill_;  // empty: the slot holds the one minibatch of all steps
};

}  // namespace kb
