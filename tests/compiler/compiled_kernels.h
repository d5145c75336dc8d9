// Prints kernels, compiles them for one width of vectors, runs them and compares with the KernelIR interpreter.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/kernel/interpreter.h"
#include "compiler/kernel_ir.h"
#include "runtime/options.h"
#include "tests/support/support.h"

namespace kb::test {

// Returns the vector widths in bytes, among 16, 32 and 64, that this processor has.
std::vector<int> vector_widths();

using KernelEntry = void (*)(void* const*, const long*, long, long, long);

// One shared object, at -O`level` (default: users'); warnings are errors. Loaded until the program ends.
std::map<std::string, KernelEntry> compile_kernels(const std::vector<ir::Kernel>& kernels, int vector_bytes,
                                                   int level = RuntimeOptions{}.kernel_level);

// An array in memory form. `fill` draws values that suit the type, specials among them.
struct Data {
  DType dtype = DType::f32;
  int64_t elements = 0;
  bool defined = true;
  std::vector<std::byte> bytes;

  static Data random(DType dtype, int64_t elements, uint32_t seed);
  static Data of(DType dtype, const std::vector<double>& values);
  static Data output(DType dtype, int64_t elements);
  double at(int64_t i) const { return load_element(dtype, bytes.data(), i); }
};

struct Launch {
  std::vector<int64_t> arguments, tiles;
  std::vector<Data> buffers;
};

void interpret(const ir::Kernel& kernel, Launch& launch);
// All tiles of each phase in two calls, the later tiles first.
void call(KernelEntry entry, Launch& launch);

// The first element of the first buffer in which two runs differ; NaN equals NaN. Empty if none.
std::string first_difference(const Launch& expected, const Launch& got);

}  // namespace kb::test
