// cuDNN and cuBLASLt as one device library.
#pragma once
#include <memory>
#include <string>

#include "runtime/cuda/library.h"

namespace kb::cuda {

// On the handles' device. Unless `deterministic`, implementations whose bits differ from run to run may be chosen.
std::unique_ptr<DeviceLibrary> make_vendor_library(const DeviceHandles& device, bool deterministic);

// Without a device, for "sm_80", "sm_90" or "sm_100": plans convolutions as cuDNN's heuristics have them, but runs
// nothing. The scratch of a convolution is then its favourite's; that of a matrix product, of which cuBLASLt says
// nothing, 32 MiB, what NVIDIA advises to give it on an H100.
std::unique_ptr<DeviceLibrary> make_deviceless_library(const std::string& architecture);

}  // namespace kb::cuda
