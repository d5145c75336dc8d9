// The lanes of a program (compiler/step_programs.h) on a device's streams. A routine is cut into segments: calls of one
// lane that follow one another, a `micro` of lane 0 at the beginning of one. A segment of lane 1 goes to the stream
// `beside`. It waits for all that lane 0 was given before its last `micro`, and the next segment of lane 0 that is no
// `micro` waits for it.
#pragma once
#include <vector>

#include "runtime/backend.h"
#include "runtime/cuda/device.h"

namespace kb::cuda {

// Programs of one lane that a routine runs one after the other.
struct Segment {
  std::vector<size_t> programs;
  bool beside = false;  // true for lane 1
  bool opens = false;   // true for a `micro` of lane 0, beside which lane 1 may run
};

class Lanes {
 public:
  Lanes(const OpenDevice& device, const RunnerParts& parts);

  bool are_two() const { return are_two_; }
  const std::vector<Segment>& segments(size_t routine) const { return segments_[routine]; }
  Stream stream_of(const Segment& segment) const { return segment.beside ? device_.beside : device_.compute; }
  // These stand before and behind what a segment enqueues. `begin` makes it wait for those of the other lane that it
  // must not overtake.
  void begin(const Segment& segment);
  void end(const Segment& segment);

 private:
  std::vector<Segment> segments_of(const RunnerParts& parts, const RunnerParts::Routine& routine) const;

  const OpenDevice& device_;
  const bool are_two_;
  const EventHandle opened_;                    // all that lane 0 was given before its last `micro`
  const EventHandle beside_;                    // all that lane 1 was given
  bool has_run_beside_ = false;                 // tells whether `beside_` was recorded
  std::vector<std::vector<Segment>> segments_;  // index: routine
};

}  // namespace kb::cuda
