#include "recipes/inspect/device_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/print/cuda.h"
#include "graph/error.h"
#include "runtime/cuda/nvrtc_compiler.h"
#include "runtime/threads.h"

namespace kb {
namespace {

struct Collected {
  KernelBatch batch;
  std::vector<DeviceKernel> kernels;
};

Collected collect(const Program& program) {
  Collected all;
  all.batch.prelude = cuda_prelude();
  std::map<std::string, size_t> known;
  for (const Schedule* schedule : program.all()) {
    const std::vector<StepDescription> words = describe_steps(*schedule);
    for (size_t s = 0; s < schedule->steps.size(); ++s) {
      const Step& step = schedule->steps[s];
      const ir::Kernel* kernel = schedule->kernel_of(step);
      if (!kernel) continue;
      const auto [at, is_new] = known.try_emplace(kernel->name, all.kernels.size());
      if (is_new) {
        all.batch.kernels.push_back({kernel->name, print_cuda(*kernel)});
        all.kernels.push_back({{.name = kernel->name}, kernel->kind, words[s], 0, kernel->block_threads});
      }
      all.kernels[at->second].launches++;
    }
  }
  return all;
}

int capability(const std::string& arch) { return std::stoi(arch.substr(arch.find('_') + 1)); }

void read_resources(const std::vector<cuda::Image>& images, std::vector<DeviceKernel>& kernels) {
  std::map<std::string, cuda::KernelResources> found;
  for (const cuda::Image& image : images) {
    if (!cuda::is_cubin(image.data)) continue;
    for (cuda::KernelResources& kernel : cuda::kernel_resources(image.data))
      if (std::find(image.names.begin(), image.names.end(), kernel.name) != image.names.end())
        found[kernel.name] = kernel;
  }
  for (DeviceKernel& kernel : kernels)
    if (const auto at = found.find(kernel.resources.name); at != found.end()) kernel.resources = at->second;
}

// Reads the main loops from the machine code. If cuobjdump fails, adds a warning: the model then has no times of code.
void read_machine_code(const std::vector<cuda::Image>& images, const std::string& cuobjdump, int jobs,
                       DeviceKernels& result) {
  try {
    std::vector<KernelWork> work(images.size());
    run_side_by_side(images.size(), static_cast<size_t>(std::max(jobs, 1)), [&](size_t i) {
      if (cuda::is_cubin(images[i].data)) work[i] = cuda::main_loops(cuda::disassembled(cuobjdump, images[i].data));
    });
    for (KernelWork& one : work) result.work.merge(one);
  } catch (const Error& error) {
    result.warnings.push_back(fmt::format(
        "the kernels' machine code is not known, so their instructions take no time in the model: {}\n  hint: "
        "cuobjdump comes with the CUDA toolkit; KB_CUOBJDUMP names it",
        error.what()));
  }
}

}  // namespace

int64_t DeviceKernels::registers_max() const {
  int64_t most = 0;
  for (const DeviceKernel& kernel : kernels) most = std::max(most, kernel.resources.registers);
  return most;
}

int64_t DeviceKernels::spill_bytes() const {
  int64_t sum = 0;
  for (const DeviceKernel& kernel : kernels) sum += kernel.resources.local_bytes;
  return sum;
}

DeviceKernels compile_device_kernels(const Program& program, const std::string& arch, const std::string& cache_dir,
                                     int jobs, const std::string& cuobjdump) {
  Collected all = collect(program);
  DeviceKernels result;
  result.kernels = std::move(all.kernels);
  cuda::Nvrtc nvrtc;
  if (!cuda::open_nvrtc(nvrtc, result.missing)) return result;
  const auto compiler = cuda::make_nvrtc_compiler(nvrtc, capability(arch), cache_dir, jobs);
  const cuda::CompiledImages images = compiler->compile(all.batch);
  result.compiler = compiler->name();
  result.cost = images;
  result.warnings = images.warnings;
  read_resources(images.images, result.kernels);
  if (!cuobjdump.empty()) read_machine_code(images.images, cuobjdump, jobs, result);
  return result;
}

std::string to_text(const DeviceKernels& kernels) {
  if (kernels.compiler.empty()) return fmt::format("\nkernels are not compiled: {}\n", kernels.missing);
  constexpr size_t kWords = 58;  // width of the words, with which a line has 120 characters
  std::string text = fmt::format("\n{:>8} {:>7} {:>9} {:>6} {:>6}  {:<{}}  {}\n", "launches", "threads", "registers",
                                 "shared", "spills", "first of its launches", kWords, "kernel");
  for (const DeviceKernel& kernel : kernels.kernels)
    text += fmt::format("{:>8} {:>7} {:>9} {:>6} {:>6}  {:<{}}  {}\n", kernel.launches, kernel.block_threads,
                        kernel.resources.registers, kernel.resources.shared_bytes, kernel.resources.local_bytes,
                        kernel.step.text(kWords), kWords, kernel.resources.name);
  for (const std::string& warning : kernels.warnings) text += "NOTE: " + warning + "\n";
  return text + fmt::format(
                    "{}: {} distinct kernels, at most {} registers, {} bytes spilled; {:.1f} ms ({} compiled, {} "
                    "from the cache)\n",
                    kernels.compiler, kernels.kernels.size(), kernels.registers_max(), kernels.spill_bytes(),
                    kernels.cost.jit_milliseconds, kernels.cost.compiled, kernels.cost.cache_hits);
}

}  // namespace kb
