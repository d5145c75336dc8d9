// Clocks around every part of a step that was taken; all times are on one clock, milliseconds from the step's start.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/overlap.h"
#include "compiler/schedule.h"

namespace kb {

// The times of one schedule step, in milliseconds from the start of the profiled run.
struct StepTime {
  double start = 0, milliseconds = 0;
  // For a wait only: when the first message of its all-reduce went, and when the sum was there.
  double reduction_start = 0, reduction_end = 0;
};

// The times, in milliseconds, of one copy of inputs or results between the host and a device with memory of its own.
struct CopyTime {
  std::string name;
  int64_t bytes = 0;
  double start = 0, milliseconds = 0;
};

struct Profile {
  std::vector<StepTime> steps;   // of the programs, one behind the other
  std::vector<CopyTime> copies;  // none where the host's memory is the device's

  // The next program's, on a clock of its own: it began when what was before had ended.
  void append(std::span<const StepTime> program);
  double end() const;  // of the last step
};

// The times of a program whose steps take `seconds` each, its all-reduces as predict_overlap has them go.
std::vector<StepTime> predicted_times(const Schedule& schedule, std::span<const double> seconds,
                                      const ReductionSeconds& reduction);

// How the all-reduces of a program went, of whose steps these are the times.
Overlap measured_overlap(const Schedule& schedule, std::span<const StepTime> times);

}  // namespace kb
