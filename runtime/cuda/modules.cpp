#include "runtime/cuda/modules.h"

#include "runtime/standard_streams.h"

namespace kb::cuda {

Modules::Modules(const OpenDevice& device, Compiler& compiler, const KernelBatch& batch, LoadReport& report)
    : device_(device) {
  if (batch.kernels.empty()) return;
  const CompiledImages compiled = compiler.compile(batch);
  for (const std::string& warning : compiled.warnings) print_error(warning);
  for (const Image& image : compiled.images) load(image);
  report.cache_hits += compiled.cache_hits;
  report.compiled += compiled.compiled;
  report.jit_milliseconds += compiled.jit_ms;
}

// One that the constructor did not finish leaves its modules to the context, which a failed load ends anyway.
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
