// The times of every part of one step, in milliseconds from the step's start, all on one clock.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/schedule.h"
#include "compiler/schedule/overlap.h"

namespace kb {

// The times of one schedule step, in milliseconds from the start of the profiled run.
struct StepTime {
  double start = 0, milliseconds = 0;
  // Set in a wait step alone: when the all-reduce sent its first message, and when its sum was complete.
  double reduction_start = 0, reduction_end = 0;
};

// The times, in milliseconds, of one copy of inputs or results between the host and a device with memory of its own.
struct CopyTime {
  std::string name;
  int64_t bytes = 0;
  double start = 0, milliseconds = 0;
};

struct Profile {
  std::vector<StepTime> steps;   // the schedule steps of the programs, one program after another
  std::vector<CopyTime> copies;  // empty if the device uses the host's memory

  // Appends the steps of the next program. Its times count from its own start; they are shifted to begin at end().
  void append(std::span<const StepTime> program);
  double end() const;  // end of the last step
};

// Returns the times of a program whose steps take `seconds` each, with all-reduces as predict_overlap() times them.
std::vector<StepTime> predicted_times(const Schedule& schedule, std::span<const double> seconds,
                                      const ReductionSeconds& reduction);

// Returns how the all-reduces of a program overlapped with its steps, from the times of the steps.
Overlap measured_overlap(const Schedule& schedule, std::span<const StepTime> times);

}  // namespace kb
