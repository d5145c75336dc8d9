// The parts of the CUDA backend for real devices: NVRTC with its disk cache, and cuDNN and cuBLASLt, whose measured
// choices are kept beside that.
#pragma once
#include "runtime/cuda/backend.h"

namespace kb::cuda {

Factories vendor_factories(const CudaOptions& options);

}  // namespace kb::cuda
