// Models a step on a GPU, launch by launch, for comparison with times that are measured there. A launch of a generated
// kernel takes the time of its DRAM bytes or of its main loop's instructions, whichever is longer, and a constant for
// its start and end; a library call takes the time of its bytes or operations at a stated share of the GPU's rates.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule.h"
#include "compiler/target.h"
#include "recipes/inspect/schedule_table.h"
#include "runtime/cuda/sass.h"

namespace kb {

struct GpuRates {
  std::string name;     // "H200", or the text that gave the rates
  double bytes = 0;     // bytes per second, read and written, of a copy of large arrays
  double multiply = 0;  // operations per second of a large bf16 matmul on random data; 0: not known
};

// Reads "h100", "h200", or bytes and operations per second as in "4.3TB/s,790TFLOP/s". Throws UsageError for other
// text.
GpuRates parse_gpu_rates(const std::string& text);

// Returns the rates measured on GPUs of this kind ("NVIDIA H100 80GB HBM3"); nothing if the kind is not known.
std::optional<GpuRates> known_gpu(const std::string& device);

// Main loops by name of the kernel. If it is empty, the machine code is not known and gets no time.
using KernelWork = std::map<std::string, cuda::LoopWork>;

struct LaunchModel {
  double dram_ms = 0;
  double code_ms = 0;  // time of the main loop's instructions; library calls: of their operations
  double alu = 0;      // operations in the pipe "alu" per element of the main loop; 0: not known
  double total_ms = 0;
  bool is_judged = false;  // whether it moves enough bytes for its time between two events to mean something
};

struct StepModel {
  std::vector<LaunchModel> launches;  // launches of the programs' steps, one program after another
  int64_t generated_bytes = 0, library_bytes = 0;
  double generated_ms = 0, library_ms = 0;
  double milliseconds() const { return generated_ms + library_ms; }
};

StepModel model_step(const std::vector<const Schedule*>& programs, const KernelWork& work, const Target& target,
                     const GpuRates& rates);

// Returns a line per launch with its bytes, times and ALU operations, and one of sums. `measured`: milliseconds of each
// launch, for a column beside the predicted ones; empty: none. `copy`: bytes per second, with which judged launches are
// compared. No line of a launch is longer than `columns`, or than what its numbers and some words need.
std::string to_text(const StepModel& model, const std::vector<const Schedule*>& programs, const GpuRates& rates,
                    const std::vector<double>& measured = {}, double copy = 0, int columns = kTableColumns);

}  // namespace kb
