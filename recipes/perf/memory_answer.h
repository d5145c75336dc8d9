// The memory that a program will take, which is known before it runs, and the tensors that are live at its peak.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "compiler/pipeline/pipeline.h"
#include "compiler/schedule/describe_steps.h"

namespace kb {

// Memory of a compiled program, in bytes. `optimizer` are the optimizer's slots, `statistics` the running statistics.
struct MemoryAnswer {
  int64_t parameters = 0, optimizer = 0, statistics = 0;
  int64_t prepared = 0;        // copies in a library's format, and tables of the compiler
  int64_t partial_sums = 0;    // sums over the virtual workers, while they are incomplete
  int64_t data = 0;            // a data set that lives on the device
  int64_t inputs = 0;          // inputs of one step
  int64_t arena = 0;           // activations, gradients and workspace
  int64_t liveness_bound = 0;  // most bytes live at once, below which no plan of the arena can get
  int64_t own() const { return prepared + partial_sums + data + inputs; }  // not shared with another program
  int64_t total() const { return parameters + optimizer + statistics + own() + arena; }
};

MemoryAnswer memory_answer(const Compiled& compiled);
// Returns the bytes that programs take together: parameters and optimizer state of the first, which has all of them,
// own() of each, and one arena, the largest, because they run one after another.
int64_t total_memory(std::span<const Compiled* const> programs);
// Returns the answer in one or more lines, without a newline at the end.
std::string to_text(const MemoryAnswer& answer);

// Share of a device's memory that programs may fill; the rest is left for the memory that libraries allocate.
inline constexpr double kFitShare = 0.9;

// A tensor that is live at the peak.
struct LiveTensor {
  StepDescription made_by;  // the step that writes it
  std::string type;         // "f32[16,64,112,112]", or empty for scratch memory
  std::string place;        // source line of its node, "resnet.cpp:40"
  int64_t bytes = 0;
};

struct Peak {
  size_t step = 0;                  // number of the step at which most bytes of the arena are live
  int64_t bytes = 0;                // bytes live at this step
  std::vector<LiveTensor> tensors;  // tensors live at this step, the largest first
};

// Returns the peak of a schedule, with its `most` largest tensors.
Peak memory_peak(const Schedule& schedule, size_t most);
// Returns the peak of the program's schedule whose liveness bound is highest.
Peak memory_peak(const Program& program, size_t most);

// Returns a text such as "1.23 GB" or "45.6 MB", in decimal units.
std::string bytes_text(int64_t bytes);

}  // namespace kb
