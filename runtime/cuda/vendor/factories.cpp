#include "runtime/cuda/vendor/factories.h"

#include "runtime/cuda/kept_picks.h"
#include "runtime/cuda/nvrtc_compiler.h"
#include "runtime/cuda/vendor/vendor_library.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"

namespace kb::cuda {
namespace {

std::filesystem::path cache_directory(const CudaOptions& options) {
  const std::string& asked = options.cache_directory;
  return asked.empty() ? RuntimeOptions::from_environment().cache_dir : std::filesystem::path(asked);
}

std::unique_ptr<DeviceLibrary> make_library(const DeviceHandles& handles, const CudaOptions& options) {
  std::unique_ptr<DeviceLibrary> library = make_vendor_library(handles, options.deterministic);
  const std::filesystem::path cache = cache_directory(options);
  if (cache.empty()) return library;
  char device[256] = "";
  handles.driver(handles.driver.device_name, device, static_cast<int>(sizeof device), handles.device);
  const std::string file = picks_file_name(device, library->name(), options.deterministic);
  return keep_picks(std::move(library), cache / file);
}

std::unique_ptr<Compiler> make_compiler(const OpenDevice& device, const CudaOptions& options) {
  Nvrtc nvrtc;
  std::string why;
  if (!open_nvrtc(nvrtc, why))
    throw Error(
        "no GPU can be used\n  missing: NVRTC, CUDA's run-time compiler\n  got:     " + why +
        "\n  hint:    install the CUDA toolkit (12.9 or 13), or set LD_LIBRARY_PATH to the folder of libnvrtc.so");
  return make_nvrtc_compiler(nvrtc, device.capability, cache_directory(options), usable_processors());
}

}  // namespace

Factories vendor_factories(const CudaOptions& options) {
  return {[options](const OpenDevice& device) { return make_compiler(device, options); },
          [options](const DeviceHandles& handles) { return make_library(handles, options); }};
}

}  // namespace kb::cuda
