// The CUDA backend, made of an open device, a compiler of device code and a library; and the way to it for programs:
// the plug-in library that has all three, opened when a GPU is asked for.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "runtime/backend.h"
#include "runtime/cuda/compiler.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/library.h"

namespace kb {

struct CudaOptions {
  int device = 0;               // ordinal
  bool fast = false;            // results may differ from run to run where that is faster
  std::string cache_directory;  // "" = from the environment (runtime/options.h)
};

namespace cuda {

// What makes a backend's parts; each is called once, with what the parts before have opened.
struct Factories {
  std::function<std::unique_ptr<Compiler>(const OpenDevice&)> compiler;
  std::function<std::unique_ptr<DeviceLibrary>(const DeviceHandles&)> library;
};

// Initialises the driver, opens the device. Throws Error where there is none of that number, saying what is missing.
std::unique_ptr<Backend> make_backend(std::unique_ptr<const Driver> driver, const CudaOptions& options,
                                      const Factories& factories);

// The target that code for a device is compiled for.
Target device_target(const OpenDevice& device);

}  // namespace cuda
}  // namespace kb
