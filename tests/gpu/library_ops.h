// What a device library computes, judged by the graph interpreter: convolutions and their gradients, matrix products,
// in every dtype and with epilogues, run as they are and out of captured graphs. For a real GPU, and for a fake one,
// which shows that the judge is right.
#pragma once
#include <functional>
#include <memory>

#include "runtime/cuda/device.h"
#include "runtime/cuda/library.h"

namespace kb::test {

using MakeLibrary = std::function<std::unique_ptr<cuda::DeviceLibrary>()>;

// Fails the running test for every call whose result is too far off, whose bits differ between two runs or two
// libraries of equal picks, or that writes outside of its result and scratch.
void check_convolutions(const cuda::OpenDevice& device, const MakeLibrary& make);
void check_matmuls(const cuda::OpenDevice& device, const MakeLibrary& make);

}  // namespace kb::test
