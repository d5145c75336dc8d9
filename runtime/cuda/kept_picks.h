// A device library whose picks outlive the process: what one run measured, the next ones on the same kind of device and
// with the same libraries use, so that two runs give the same bits. The file lies beside the compiled kernels, and is
// not cleared with them.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "runtime/cuda/library.h"

namespace kb::cuda {

// "picks.NVIDIA-H200.cuDNN-9.19.0--cuBLASLt-13.1.0.txt": other devices, versions and rules have files of their own.
std::string picks_file_name(const std::string& device, const std::string& library, bool deterministic);

// Picks given by use_algorithm_choices go before those of the file. A file that cannot be read or written is as none.
std::unique_ptr<DeviceLibrary> keep_picks(std::unique_ptr<DeviceLibrary> library, std::filesystem::path file);

}  // namespace kb::cuda
