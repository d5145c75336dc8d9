#include "tests/compiler/compiled_kernels.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

#include "compiler/print/cpp.h"
#include "runtime/host_compiler.h"
#include "runtime/processor.h"
#include "tests/support/support.h"

namespace kb::test {
namespace {

// Returns the compiler's flag for one width of vectors. Kernels of the widest vectors are compiled for this processor,
// as the runtime does it, because the compiler fails at more kernels there than for a general processor.
std::string march(int vector_bytes) {
  if (vector_bytes == vector_widths().back()) return "-march=native";
  if (vector_bytes == 16) return "-march=x86-64";
  if (vector_bytes == 32) return "-march=x86-64-v3";
  return "-march=x86-64-v4";
}

double draw(DType dtype, std::mt19937& engine) {
  const uint32_t bits = static_cast<uint32_t>(engine());
  if (!is_float(dtype)) {
    const bool small = bits % 3 == 0;
    if (dtype == DType::boolean) return bits >> 8 & 1;
    if (dtype == DType::u8) return bits >> 8 & 255;
    if (dtype == DType::u32) return small ? bits >> 27 : bits;
    return small ? static_cast<int>(bits >> 27) - 16 : static_cast<int32_t>(bits);
  }
  constexpr double kSpecial[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0, 1e-40, -3e-42, 0.5, 65504, 2.5};
  if (bits % 7 == 0) return kSpecial[(bits >> 8) % std::size(kSpecial)];
  if (bits % 7 == 1) return std::bit_cast<float>(static_cast<uint32_t>(engine()));
  return std::ldexp(static_cast<double>(static_cast<int32_t>(engine())), -31 + static_cast<int>(bits >> 28) - 6);
}

}  // namespace

std::vector<int> vector_widths() {
  const int widest = vector_bytes(instruction_set());
  if (was_asked("--widest")) return {widest};
  std::vector<int> widths{16};
  if (widest >= 32) widths.push_back(32);
  if (widest >= 64) widths.push_back(64);
  return widths;
}

std::map<std::string, KernelEntry> compile_kernels(const std::vector<ir::Kernel>& kernels, int vector_bytes,
                                                   int level) {
  std::string text = cpp_prelude(vector_bytes);
  for (const ir::Kernel& kernel : kernels) text += print_cpp(kernel, vector_bytes);
  RuntimeOptions options = RuntimeOptions::from_environment();
  options.kernel_level = level;
  HostCompiler compiler = find_host_compiler(options);
  for (std::string& flag : compiler.flags)
    if (flag.starts_with("-march=")) flag = march(vector_bytes);
  std::erase(compiler.flags, "-w");
  for (const char* flag : {"-Wall", "-Wextra", "-Werror"}) compiler.flags.push_back(flag);

  const TemporaryDirectory directory;
  write_file(directory / "kernels.cpp", text);
  const CompileJob job{directory / "kernels.cpp", directory / "kernels.so"};
  const CompileResult result = compile_shared_objects(compiler, {&job, 1}).front();
  if (!result.ok) throw std::runtime_error(result.diagnostics);
  void* object = dlopen(job.object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object) throw std::runtime_error(dlerror());
  std::map<std::string, KernelEntry> entries;
  for (const ir::Kernel& kernel : kernels)
    entries[kernel.name] = reinterpret_cast<KernelEntry>(dlsym(object, kernel.name.c_str()));
  return entries;
}

std::map<std::string, KernelEntry> compile_kernels(const std::vector<ir::Kernel>& kernels, int vector_bytes) {
  const bool users = vector_bytes == vector_widths().back();
  return compile_kernels(kernels, vector_bytes, users ? RuntimeOptions{}.kernel_level : 0);
}

Data Data::random(DType dtype, int64_t elements, uint32_t seed) {
  Data data = output(dtype, elements);
  data.defined = true;
  std::mt19937 engine(seed);
  for (int64_t i = 0; i < elements; ++i) store_element(dtype, data.bytes.data(), i, draw(dtype, engine));
  return data;
}

Data Data::of(DType dtype, const std::vector<double>& values) {
  Data data = output(dtype, static_cast<int64_t>(values.size()));
  data.defined = true;
  for (int64_t i = 0; i < data.elements; ++i)
    store_element(dtype, data.bytes.data(), i, values[static_cast<size_t>(i)]);
  return data;
}

Data Data::output(DType dtype, int64_t elements) {
  return {dtype, elements, false, std::vector<std::byte>(static_cast<size_t>(elements * size_of(dtype)))};
}

void interpret(const ir::Kernel& kernel, Launch& launch) {
  std::vector<ir::Memory> memories;
  for (Data& data : launch.buffers) memories.push_back({data.dtype, data.bytes.data(), data.elements, data.defined});
  ir::run(kernel, launch.arguments, launch.tiles, memories);
}

void call(KernelEntry entry, Launch& launch) {
  std::vector<void*> pointers;
  for (Data& data : launch.buffers) pointers.push_back(data.bytes.data());
  const std::vector<long> arguments(launch.arguments.begin(), launch.arguments.end());
  for (size_t phase = 0; phase < launch.tiles.size(); ++phase) {
    const long tiles = launch.tiles[phase], half = tiles / 2;
    entry(pointers.data(), arguments.data(), static_cast<long>(phase), half, tiles);
    entry(pointers.data(), arguments.data(), static_cast<long>(phase), 0, half);
  }
}

std::string first_difference(const Launch& expected, const Launch& got) {
  for (size_t b = 0; b < expected.buffers.size(); ++b) {
    const Data &x = expected.buffers[b], &y = got.buffers[b];
    const size_t size = static_cast<size_t>(size_of(x.dtype));
    for (int64_t i = 0; i < x.elements; ++i) {
      const size_t at = static_cast<size_t>(i) * size;
      if (std::memcmp(&x.bytes[at], &y.bytes[at], size) == 0 || (std::isnan(x.at(i)) && std::isnan(y.at(i)))) continue;
      return fmt::format("b{}[{}]: expected {} ({:a}), got {} ({:a})", b, i, x.at(i), x.at(i), y.at(i), y.at(i));
    }
  }
  return "";
}

}  // namespace kb::test
