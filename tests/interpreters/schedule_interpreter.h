// Runs a schedule without any backend, and so defines what it means: kernels by the KernelIR interpreter, library calls
// by the graph interpreter, over an arena laid out as planned. A wrong live range, offset or order gives wrong numbers
// here too.
#pragma once
#include <functional>

#include "compiler/schedule.h"
#include "graph/interpreter.h"
#include "tests/interpreters/kernel_interpreter.h"

namespace kb {

// The memory of every variable by its name, in the variable's dtype (a prepared variable holds canonical weights).
// Memory that is missing is filled with zeros on first use, and all of it is kept between runs.
using StoreBytes = std::map<std::string, std::vector<std::byte>>;

// A function that runs a kernel on buffers, with the parameters of ir::run.
using KernelRunner = std::function<void(const ir::Kernel& kernel, std::span<const int64_t> arguments,
                                        std::span<const int64_t> tiles, std::span<const ir::Memory> buffers)>;

// Runs the schedule on `inputs`, by name, and returns the outputs, by name. State writes go to `store`.
std::map<std::string, Array> run_schedule(const Schedule& schedule, const Bindings& inputs, StoreBytes& store,
                                          const KernelRunner& run_kernel = ir::run);

// Bytes of an array in its dtype, and back.
std::vector<std::byte> to_bytes(const Array& array);
Array from_bytes(const Type& type, const std::byte* data);

}  // namespace kb
