// Finds the op that made the first value that is not finite: computes the losses and gradients of a step in a program
// of its own, which tests every value (compiler/passes/probe.h).
#pragma once
#include "recipes/train/feed.h"
#include "recipes/train/parts.h"
#include "recipes/train/programs.h"

namespace kb {

class FiniteCheck {
 public:
  // `parts` must outlive this object.
  FiniteCheck(const LoopParts& parts, Backend& backend, CheckProgram program);

  // Computes the step for each virtual worker of this process with the present parameters, and changes no state.
  // Returns the op that made the first value that is not finite, its scope and source line; empty if all values are
  // finite.
  std::string run(int64_t step);
  // Returns the bytes that the program takes beside those of the training, whose parameters it reads.
  int64_t bytes() const;

 private:
  const LoopParts& parts_;
  const Probes probes_;
  Session session_;
  HostBatch slot_;
  FieldFill fill_;  // empty for a constant source: the slot holds the minibatch that all steps share
};

}  // namespace kb
