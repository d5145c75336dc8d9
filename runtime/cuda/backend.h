// The CUDA backend: an open device, a compiler of device code and a library.
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

// Functions that make a backend's parts. Each is called once, with what was opened before.
struct Factories {
  std::function<std::unique_ptr<Compiler>(const OpenDevice&)> compiler;
  std::function<std::unique_ptr<DeviceLibrary>(const DeviceHandles&)> library;
  Collective::OpenNccl nccl = [] { return open_nccl(); };  // called if there are several ranks
};

// Initialises the driver and opens the device. Throws Error, which says what is missing, when there is no device of
// that number.
std::unique_ptr<Backend> make_backend(std::unique_ptr<const Driver> driver, const CudaOptions& options,
                                      const Factories& factories);

// Returns the target that code for a device is compiled for.
Target device_target(const OpenDevice& device);

}  // namespace kb::cuda
