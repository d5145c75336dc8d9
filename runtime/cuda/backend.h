// The CUDA backend, made of an open device, a compiler of device code and a library.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "runtime/backend.h"
#include "runtime/cuda/collective.h"
#include "runtime/cuda/compiler.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/library.h"
#include "runtime/cuda/open.h"

namespace kb::cuda {

// Functions that make a backend's parts; each is called once, with what the parts before have opened.
struct Factories {
  std::function<std::unique_ptr<Compiler>(const OpenDevice&)> compiler;
  std::function<std::unique_ptr<DeviceLibrary>(const DeviceHandles&)> library;
  Collective::OpenNccl nccl = [] { return open_nccl(); };  // for several ranks
};

// Initialises the driver, opens the device. Throws Error where there is none of that number, saying what is missing.
std::unique_ptr<Backend> make_backend(std::unique_ptr<const Driver> driver, const CudaOptions& options,
                                      const Factories& factories);

// The target that code for a device is compiled for.
Target device_target(const OpenDevice& device);

}  // namespace kb::cuda
