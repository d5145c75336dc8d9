// Memory that a program will take, known before it runs, and the tensors that lie there when it takes most.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "compiler/pipeline/pipeline.h"
#include "compiler/schedule/describe_steps.h"

namespace kb {

// Bytes.
struct MemoryAnswer {
  int64_t parameters = 0, optimizer = 0, statistics = 0;
  int64_t prepared = 0;        // copies in a library's format, tables of the compiler
  int64_t partial_sums = 0;    // over virtual workers
  int64_t data = 0;            // a data set that lives on the device
  int64_t inputs = 0;          // one minibatch
  int64_t arena = 0;           // activations, gradients and workspace
  int64_t liveness_bound = 0;  // most bytes live at once: no plan of the arena can be smaller
  int64_t own() const { return prepared + partial_sums + data + inputs; }  // that no other program shares
  int64_t total() const { return parameters + optimizer + statistics + own() + arena; }
};

MemoryAnswer memory_answer(const Compiled& compiled);
// Returns the bytes that programs take together: the first, which has all parameters and optimizer state, what is the
// others' own, and one arena, the largest, for they run one after another.
int64_t total_memory(std::span<const Compiled* const> programs);
// Several lines, without a newline at the end.
std::string to_text(const MemoryAnswer& answer);

// Share of a device's memory that programs may fill; the rest is for libraries' own.
inline constexpr double kFitShare = 0.9;

struct LiveTensor {
  StepDescription made_by;  // the step that writes it
  std::string type;         // "f32[16,64,112,112]"; empty for scratch
  std::string place;        // "resnet.cpp:40"
  int64_t bytes = 0;
};

struct Peak {
  size_t step = 0;                  // at which most bytes are live
  int64_t bytes = 0;                // live there
  std::vector<LiveTensor> tensors;  // the largest first
};

Peak memory_peak(const Schedule& schedule, size_t most);
// Returns the peak of that schedule of the program whose peak is highest.
Peak memory_peak(const Program& program, size_t most);

// "1.23 GB", "45.6 MB": decimal.
std::string bytes_text(int64_t bytes);

}  // namespace kb
