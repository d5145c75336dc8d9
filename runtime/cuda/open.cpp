#include "runtime/cuda/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/share.h"
#include "runtime/plugin.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr Plugin kCudaPlugin{
    "libkilobatch_cuda.so", "Kilobatch's GPU library", "kilobatch_cuda_version", "no GPU can be used",
    "configure with the CUDA toolkit (12.9 or 13) and cuDNN 9 installed: cmake -DKB_CUDA=ON -DKB_CUDNN=ON names what "
    "it does not find"};
constexpr const char* kNoDriver =
    "install NVIDIA's driver for the GPU; a container gets it from its host (docker run --gpus all)";
constexpr const char* kNoDevice =
    "nvidia-smi shows which GPUs the driver sees; CUDA_VISIBLE_DEVICES hides some, a container needs --gpus all";

// Returns the PCI bus id of each device that the driver shows, in the order of their numbers.
std::vector<std::string> visible_devices(const CudaPlaces& places) {
  cuda::Driver driver;
  std::string why;
  if (!cuda::open_table(driver, places.driver.c_str(), why)) kCudaPlugin.missing("the CUDA driver", why, kNoDriver);
  std::vector<std::string> bus_ids;
  try {
    int count = 0;
    driver(driver.init, 0u);
    driver(driver.device_count, &count);
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      cuda::Device device = 0;
      std::array<char, 32> text{};
      driver(driver.device_get, &device, ordinal);
      driver(driver.device_bus_id, text.data(), static_cast<int>(text.size()) - 1, device);
      bus_ids.emplace_back(text.data());
    }
  } catch (const cuda::CallError& error) {
    kCudaPlugin.missing("a CUDA device", error.what(), kNoDevice);
  }
  return bus_ids;
}

std::vector<std::string> check_device(const CudaPlaces& places, int ordinal) {
  std::vector<std::string> devices = visible_devices(places);
  if (ordinal >= static_cast<int>(devices.size()))
    kCudaPlugin.missing("a CUDA device", fmt::format("{} devices, number {} asked for", devices.size(), ordinal),
                        kNoDevice);
  return devices;
}

}  // namespace

CudaPlaces cuda_places() { return {kCudaPlugin.places()}; }

// Checks first what is quickly found out, then opens the plug-in, which brings libraries of hundreds of megabytes.
std::unique_ptr<Backend> open_cuda_backend(const CudaOptions& options, const CudaPlaces& places) {
  fs::path plugin;
  const auto check = [&] {
    plugin = kCudaPlugin.find(places.plugins);
    return check_device(places, options.device);
  };
  CudaOptions own = options;
  if (options.communicator && options.communicator->size() > 1)
    own.device = cuda::share_devices(*options.communicator, check);
  else
    check();
  const auto open = reinterpret_cast<CudaPluginOpen>(kCudaPlugin.symbol(plugin, "kilobatch_cuda_open"));
  return std::unique_ptr<Backend>(open(&own));
}

DevicelessLibrary open_deviceless_library(const std::string& architecture, const CudaPlaces& places) {
  DevicelessLibrary library;
  std::error_code none;
  if (std::none_of(places.plugins.begin(), places.plugins.end(),
                   [&](const fs::path& path) { return fs::exists(path, none); }))
    return {nullptr, fmt::format("not planned: {} is not there", kCudaPlugin.file)};
  try {
    const fs::path plugin = kCudaPlugin.find(places.plugins);
    const auto open = reinterpret_cast<CudaPluginDeviceless>(kCudaPlugin.symbol(plugin, "kilobatch_cuda_deviceless"));
    library.query.reset(open(architecture.c_str(), &library.name));
  } catch (const Error& error) {
    library.name = "not planned: " + std::string(error.what());
  }
  return library;
}

}  // namespace kb
