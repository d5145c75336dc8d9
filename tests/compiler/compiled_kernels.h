// These functions print kernels, compile them for one width of vectors, run them, and compare the results with those of
// the KernelIR interpreter.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compiler/kernel_ir.h"
#include "tests/interpreters/kernel_interpreter.h"
#include "tests/support/support.h"

namespace kb::test {

// Returns the vector widths in bytes, among 16, 32 and 64, that this processor has.
std::vector<int> vector_widths();

using KernelEntry = void (*)(void* const*, const long*, long, long, long);

// Compiles the kernels into one shared object, which stays loaded until the program ends, and returns their functions
// by name. The compiler gets -O`level`; its warnings are errors. Without a level it gets that of users for the widest
// vectors, which users get, and 0 for others, which compile in a third of the time.
std::map<std::string, KernelEntry> compile_kernels(const std::vector<ir::Kernel>& kernels, int vector_bytes, int level);
std::map<std::string, KernelEntry> compile_kernels(const std::vector<ir::Kernel>& kernels, int vector_bytes);

// An array in its form in memory. random() draws values that suit the type, special ones such as NaN among them.
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
// Runs all tiles of each phase in two calls, the later tiles first.
void call(KernelEntry entry, Launch& launch);

// Returns a text on the first element of the first buffer in which two runs differ, or "" if there is none. NaN equals
// NaN.
std::string first_difference(const Launch& expected, const Launch& got);

}  // namespace kb::test
