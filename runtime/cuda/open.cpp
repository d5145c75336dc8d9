#include "runtime/cuda/open.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/driver.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugin = "libkilobatch_cuda.so";
constexpr const char* kNoPlugin =
    "configure with the CUDA toolkit (12.9 or 13) and cuDNN 9 installed: cmake -DKB_CUDA=ON -DKB_CUDNN=ON names what "
    "it does not "
    "find";
constexpr const char* kNoDriver =
    "install NVIDIA's driver for the GPU; a container gets it from its host (docker run --gpus all)";
constexpr const char* kNoDevice =
    "nvidia-smi shows which GPUs the driver sees; CUDA_VISIBLE_DEVICES hides some, a container needs --gpus all";

[[noreturn]] void missing(const std::string& what, const std::string& got, const char* how) {
  throw Error(fmt::format("no GPU can be used\n  missing: {}\n  got:     {}\n  hint:    {}", what, got, how));
}

fs::path find_plugin(const CudaPlaces& places) {
  std::string tried;
  for (const fs::path& path : places.plugins) {
    if (fs::exists(path)) return path;
    tried += (tried.empty() ? "no " : ", no ") + path.string();
  }
  missing(fmt::format("Kilobatch's GPU library, {}, which this build did not make", kPlugin), tried, kNoPlugin);
}

void check_device(const CudaPlaces& places, int ordinal) {
  cuda::Driver driver;
  std::string why;
  int count = 0;
  if (!cuda::open_driver(driver, places.driver.c_str(), why)) missing("the CUDA driver", why, kNoDriver);
  try {
    driver(driver.init, 0u);
    driver(driver.device_count, &count);
  } catch (const cuda::CallError& error) {
    missing("a CUDA device", error.what(), kNoDevice);
  }
  if (ordinal >= count)
    missing("a CUDA device", fmt::format("{} devices, number {} asked for", count, ordinal), kNoDevice);
}

template <class Function>
Function symbol(void* library, const char* name, const fs::path& path) {
  auto* result = reinterpret_cast<Function>(dlsym(library, name));
  if (!result) missing("Kilobatch's GPU library", fmt::format("{} has no {}", path.string(), name), kNoPlugin);
  return result;
}

// Stays open until the process ends.
void* open_plugin(const fs::path& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) missing("a library that Kilobatch's GPU library needs", dlerror(), kNoPlugin);
  const std::string version = symbol<CudaPluginVersion>(library, "kilobatch_cuda_version", path)();
  if (version != KB_VERSION)
    missing("Kilobatch's GPU library of this version",
            fmt::format("{} of version {}, where the program has {}", path.string(), version, KB_VERSION),
            "build both together");
  return library;
}

}  // namespace

CudaPlaces cuda_places() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {{folder / kPlugin, folder.parent_path() / "lib" / kPlugin}};
}

// What is cheap to ask comes first: the plug-in brings libraries of hundreds of megabytes.
std::unique_ptr<Backend> open_cuda_backend(const CudaOptions& options, const CudaPlaces& places) {
  const fs::path plugin = find_plugin(places);
  check_device(places, options.device);
  return std::unique_ptr<Backend>(symbol<CudaPluginOpen>(open_plugin(plugin), "kilobatch_cuda_open", plugin)(&options));
}

DevicelessLibrary open_deviceless_library(const std::string& architecture, const CudaPlaces& places) {
  DevicelessLibrary library;
  if (std::none_of(places.plugins.begin(), places.plugins.end(), [](const fs::path& path) { return fs::exists(path); }))
    return {nullptr, fmt::format("not planned: {} is not there", kPlugin)};
  try {
    const fs::path plugin = find_plugin(places);
    const auto open = symbol<CudaPluginDeviceless>(open_plugin(plugin), "kilobatch_cuda_deviceless", plugin);
    library.query.reset(open(architecture.c_str(), &library.name));
  } catch (const Error& error) {
    library.name = "not planned: " + std::string(error.what());
  }
  return library;
}

}  // namespace kb
