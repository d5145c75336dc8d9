#include "runtime/cuda/open.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/driver.h"
#include "runtime/plugin.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr Plugin kPlugin{
    "libkilobatch_cuda.so", "Kilobatch's GPU library", "kilobatch_cuda_version", "no GPU can be used",
    "configure with the CUDA toolkit (12.9 or 13) and cuDNN 9 installed: cmake -DKB_CUDA=ON -DKB_CUDNN=ON names what "
    "it does not find"};
constexpr const char* kNoDriver =
    "install NVIDIA's driver for the GPU; a container gets it from its host (docker run --gpus all)";
constexpr const char* kNoDevice =
    "nvidia-smi shows which GPUs the driver sees; CUDA_VISIBLE_DEVICES hides some, a container needs --gpus all";

void check_device(const CudaPlaces& places, int ordinal) {
  cuda::Driver driver;
  std::string why;
  int count = 0;
  if (!cuda::open_table(driver, places.driver.c_str(), why)) kPlugin.missing("the CUDA driver", why, kNoDriver);
  try {
    driver(driver.init, 0u);
    driver(driver.device_count, &count);
  } catch (const cuda::CallError& error) {
    kPlugin.missing("a CUDA device", error.what(), kNoDevice);
  }
  if (ordinal >= count)
    kPlugin.missing("a CUDA device", fmt::format("{} devices, number {} asked for", count, ordinal), kNoDevice);
}

}  // namespace

CudaPlaces cuda_places() { return {kPlugin.places()}; }

// What is cheap to ask comes first: the plug-in brings libraries of hundreds of megabytes.
std::unique_ptr<Backend> open_cuda_backend(const CudaOptions& options, const CudaPlaces& places) {
  const fs::path plugin = kPlugin.find(places.plugins);
  check_device(places, options.device);
  const auto open = reinterpret_cast<CudaPluginOpen>(kPlugin.symbol(plugin, "kilobatch_cuda_open"));
  return std::unique_ptr<Backend>(open(&options));
}

DevicelessLibrary open_deviceless_library(const std::string& architecture, const CudaPlaces& places) {
  DevicelessLibrary library;
  if (std::none_of(places.plugins.begin(), places.plugins.end(), [](const fs::path& path) { return fs::exists(path); }))
    return {nullptr, fmt::format("not planned: {} is not there", kPlugin.file)};
  try {
    const fs::path plugin = kPlugin.find(places.plugins);
    const auto open = reinterpret_cast<CudaPluginDeviceless>(kPlugin.symbol(plugin, "kilobatch_cuda_deviceless"));
    library.query.reset(open(architecture.c_str(), &library.name));
  } catch (const Error& error) {
    library.name = "not planned: " + std::string(error.what());
  }
  return library;
}

}  // namespace kb
