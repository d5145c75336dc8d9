// Runs the launches of a schedule, and compares what each leaves in memory with what the graph interpreter computes,
// node by node, from what the launch read. Errors do not grow from launch to launch, so wrong elements are found in 16
// bits too. What a launch reads must be what an earlier one left there, and it touches no byte outside its operands.
#pragma once
#include <map>
#include <vector>

#include "tests/interpreters/schedule_interpreter.h"

namespace kb::test {

class LaunchOracle {
 public:
  // `run` runs the kernels of the schedule, which outlives this.
  LaunchOracle(const Schedule& schedule, KernelRunner run) : schedule_(schedule), run_(std::move(run)) {}
  // Returns the runner for one call of run_schedule. It throws InternalError, which names the step, at the first value
  // that is wrong.
  KernelRunner runner();
  int64_t values() const { return values_; }  // number of values that were compared

 private:
  void launch(const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
              std::span<const ir::Memory> buffers);

  const Schedule& schedule_;
  const KernelRunner run_;
  size_t step_ = 0;                               // number of the step that comes next
  std::map<Value, std::vector<std::byte>> left_;  // the bytes of what launches have written
  int64_t values_ = 0;
};

}  // namespace kb::test
