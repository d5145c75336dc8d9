#include "runtime/cuda/modules.h"

#include <fmt/format.h>

#include "runtime/standard_streams.h"

namespace kb::cuda {
namespace {

// Throws Error. A driver loads code of its own CUDA's compilers and of older ones.
[[noreturn]] void not_loaded(const OpenDevice& device, const std::string& compiler, const CallError& error) {
  throw Error(fmt::format(
      "the driver does not load what {} compiled\n  got:    {}\n  driver: CUDA {}.{}\n  hint:   where the "
      "compiler is of a newer CUDA than the driver, update the driver, or set LD_LIBRARY_PATH to the folder "
      "of an older libnvrtc.so",
      compiler, error.failure(), device.driver_version / 1000, device.driver_version % 1000 / 10));
}

bool is_refused_image(Result result) {
  return result == kInvalidImage || result == kNoBinaryForGpu || result == kUnsupportedPtx;
}

}  // namespace

Modules::Modules(const OpenDevice& device, Compiler& compiler, const KernelBatch& batch, LoadReport& report)
    : device_(device) {
  if (batch.kernels.empty()) return;
  const CompiledImages compiled = compiler.compile(batch);
  for (const std::string& warning : compiled.warnings) print_error(warning);
  try {
    for (const Image& image : compiled.images) load(image);
  } catch (const CallError& error) {
    if (is_refused_image(error.result())) not_loaded(device, compiler.name(), error);
    throw;
  }
  report += compiled;
}

// If the constructor throws, the modules stay in the context, which a failed load destroys anyway.
Modules::~Modules() {
  device_.try_make_current();
  for (Module module : modules_) device_.driver.module_unload.function(module);
}

void Modules::load(const Image& image) {
  const Driver& driver = device_.driver;
  Module module = nullptr;
  driver(driver.module_load, &module, image.data.data());
  modules_.push_back(module);
  for (const std::string& name : image.names) {
    Kernel kernel = nullptr;
    driver(driver.module_function, &kernel, module, name.c_str());
    kernels_.emplace(name, kernel);
  }
}

Kernel Modules::kernel(const std::string& name) const {
  const auto at = kernels_.find(name);
  if (at == kernels_.end()) throw InternalError("no image holds kernel " + name);
  return at->second;
}

}  // namespace kb::cuda
