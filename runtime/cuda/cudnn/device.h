// What cuDNN knows of a device when it chooses and builds plans: of one that is here, or, so that plans can be built on
// a machine without a GPU, of the one that an architecture's name stands for.
#pragma once
#include <string>

#include "runtime/cuda/cudnn/descriptor.h"

namespace kb::cudnn {

// Of the handle's device.
Descriptor device_properties(cudnnHandle_t handle);
// Of an A100 (sm_80), H200 (sm_90) or B200 (sm_100). Throws Error for another architecture.
Descriptor named_device_properties(const std::string& architecture);

}  // namespace kb::cudnn
