// cuDNN and cuBLASLt as one device library.
#pragma once
#include <memory>
#include <string>

#include "runtime/cuda/library.h"

namespace kb::cuda {

// Makes the library for the handles' device. Unless `deterministic`, it may choose implementations whose bits differ
// from run to run.
std::unique_ptr<DeviceLibrary> make_vendor_library(const DeviceHandles& device, bool deterministic);

// Makes a library without a device, for "sm_80", "sm_90" or "sm_100". It plans convolutions and attention as cuDNN's
// heuristics choose them, and runs nothing. Their scratch is that of the favourite. cuBLASLt says nothing about a
// matrix product, so its scratch is 32 MiB, as NVIDIA advises for an H100.
std::unique_ptr<DeviceLibrary> make_deviceless_library(const std::string& architecture);

}  // namespace kb::cuda
