// The CUDA backend on a fake GPU: its kernels are the text that NVRTC would get, run by the emulator; its library is
// the CPU's.
#pragma once
#include "runtime/cuda/backend.h"
#include "tests/runtime/cuda/fake_gpu.h"

namespace kb::test {

std::unique_ptr<cuda::Compiler> make_emulated_compiler(FakeGpu& gpu);
std::unique_ptr<cuda::DeviceLibrary> make_cpu_library(FakeGpu& gpu, const cuda::DeviceHandles& handles);
// `driver`: a table that a test has changed.
std::unique_ptr<Backend> make_fake_backend(FakeGpu& gpu, std::unique_ptr<cuda::Driver> driver = nullptr);

}  // namespace kb::test
