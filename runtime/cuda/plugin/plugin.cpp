// The plug-in library libkilobatch_cuda: the CUDA backend with NVRTC, cuDNN and cuBLASLt.
#include "runtime/commit.h"
#include "runtime/cuda/vendor/factories.h"
#include "runtime/cuda/vendor/vendor_library.h"

namespace kb::cuda {
namespace {

std::unique_ptr<Backend> open(const CudaOptions& options) {
  auto driver = std::make_unique<Driver>();
  std::string why;
  if (!open_table(*driver, "libcuda.so.1", why))
    throw Error("no GPU can be used\n  missing: the CUDA driver\n  got:     " + why +
                "\n  hint:    install NVIDIA's driver for the GPU; a container gets it from its host");
  return make_backend(std::move(driver), options, vendor_factories(options));
}

}  // namespace
}  // namespace kb::cuda

extern "C" __attribute__((visibility("default"))) const char* kilobatch_cuda_version() { return kb::build_version(); }

extern "C" __attribute__((visibility("default"))) kb::Backend* kilobatch_cuda_open(const kb::CudaOptions* options) {
  return kb::cuda::open(*options).release();
}

extern "C" __attribute__((visibility("default"))) kb::LibraryQuery* kilobatch_cuda_deviceless(const char* architecture,
                                                                                              std::string* name) {
  std::shared_ptr<const kb::cuda::DeviceLibrary> library = kb::cuda::make_deviceless_library(architecture);
  *name = library->name();
  return new kb::cuda::LibraryAnswers(std::move(library));
}
