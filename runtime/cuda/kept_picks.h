// A device library that keeps its picks on the disk. What one run measured is used by later runs with the same kind of
// device and the same libraries, so that two runs compute the same bits. The file lies beside the compiled kernels and
// is not cleared with them.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "runtime/cuda/library.h"

namespace kb::cuda {

// Returns "picks.NVIDIA-H200.cuDNN-9.19.0--cuBLASLt-13.1.0.txt"; other devices, versions and rules have other files.
std::string picks_file_name(const std::string& device, const std::string& library, bool deterministic);

// Picks from use_algorithm_choices() take precedence over the file's. A file that cannot be read or written counts as
// missing.
std::unique_ptr<DeviceLibrary> keep_picks(std::unique_ptr<DeviceLibrary> library, std::filesystem::path file);

}  // namespace kb::cuda
