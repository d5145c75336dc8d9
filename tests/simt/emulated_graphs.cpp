#include "tests/simt/emulated_graphs.h"

#include "tests/compiler/compiled_kernels.h"

namespace kb::simt {
namespace {

KernelRunner compiled_for_cpu(const std::vector<ir::Kernel>& kernels) {
  const int level = RuntimeOptions::from_environment().kernel_level;
  return [entries = test::compile_kernels(kernels, test::vector_widths().back(), level)](
             const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
             std::span<const ir::Memory> buffers) {
    std::vector<void*> pointers;
    for (const ir::Memory& buffer : buffers) pointers.push_back(buffer.data);
    const std::vector<long> numbers(arguments.begin(), arguments.end());
    for (size_t phase = 0; phase < tiles.size(); ++phase)
      entries.at(kernel.name)(pointers.data(), numbers.data(), static_cast<long>(phase), 0, tiles[phase]);
  };
}

}  // namespace

EmulatedGraphs::EmulatedGraphs(Target target) : KernelGraphs(emulated_, compiled_for_cpu, std::move(target)) {}

}  // namespace kb::simt
