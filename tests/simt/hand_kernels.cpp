#include "tests/simt/hand_kernels.h"

#include <algorithm>
#include <stdexcept>

#include "tests/simt/prelude.h"

namespace kb::simt {

const std::vector<std::string>& hand_kernels() {
  static const std::vector<std::string> texts = {
      R"(extern "C" __global__ void __launch_bounds__(256) twice(const float* b0, float* b1, long long e0) {
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < e0; i += blockDim.x * gridDim.x) b1[i] = 2.0f * b0[i];
}
)",
      R"(extern "C" __global__ void __launch_bounds__(256) block_sum(const float* b0, float* b1, unsigned* b2, float* b3,
                                                            long long e0) {
  __shared__ float l0[256];
  __shared__ bool last;
  const int thread = threadIdx.x;
  l0[thread] = b0[256 * blockIdx.x + thread];
  __syncthreads();
  for (int half = 128; half > 0; half >>= 1) {
    if (thread < half) l0[thread] += l0[thread + half];
    __syncthreads();
  }
  if (thread == 255) b1[blockIdx.x] = l0[0];
  __threadfence();
  __syncthreads();
  if (thread == 0) last = atomicInc(b2, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last && thread == 1) {
    __threadfence();
    float sum = 0;
    for (long long i = 0; i < e0; ++i) sum += b1[i];
    b3[0] = sum;
  }
}
)",
      R"(extern "C" __global__ void warps(float* b0) {
  const unsigned i = threadIdx.x;
  float sum = i;
  for (int by = 16; by > 0; by >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, by);
  const float next = __shfl_down_sync(0xffffffffu, (float)i, 1);
  const unsigned odd = __ballot_sync(0xffffffffu, i & 1);
  b0[i] = sum + next + (odd == 0xaaaaaaaau && __any_sync(0xffffffffu, i % 32 == 7) ? 0.5f : 0.0f);
}
)",
      R"(extern "C" __global__ void misaligned(const float* b0, float* b1) {
  if (threadIdx.x == 0) *(float4*)b1 = *(const float4*)(b0 + 1);
}
)",
      R"(extern "C" __global__ void shared_never_written(float* b0) {
  __shared__ float l0[64];
  b0[threadIdx.x] = l0[threadIdx.x];
  l0[threadIdx.x] = 1;
}
)",
      R"(extern "C" __global__ void shared_past_its_end(float* b0) {
  __shared__ float l0[64];
  l0[threadIdx.x + 1] = b0[threadIdx.x];
  __syncthreads();
  b0[threadIdx.x] = l0[1];
}
)",
      R"(extern "C" __global__ void blocks_meet(float* b0) { b0[threadIdx.x] = 1; })",
      R"(extern "C" __global__ void constant_written(const float* b0, float* b1) {
  const float x = __ldg(b0 + threadIdx.x);
  if (blockIdx.x == 0) b1[threadIdx.x] = x;
}
)",
      R"(extern "C" __global__ void divergent_barriers(float* b0) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
)",
      R"(extern "C" __global__ void ends_before_the_barrier(float* b0) {
  if (threadIdx.x < 32) __syncthreads();
}
)",
      R"(extern "C" __global__ void half_a_warp(float* b0) {
  if (threadIdx.x < 16) b0[threadIdx.x] = __shfl_xor_sync(0xffffffffu, b0[threadIdx.x], 1);
}
)"};
  return texts;
}

const std::string& hand_kernel(const std::string& name) {
  const std::vector<std::string>& texts = hand_kernels();
  const auto found =
      std::find_if(texts.begin(), texts.end(), [&](const std::string& text) { return kernel_head(text).name == name; });
  if (found == texts.end()) throw std::runtime_error("no kernel " + name);
  return *found;
}

HandLaunch::HandLaunch(const std::vector<HandBuffer>& filled, std::vector<long long> arguments, Dim grid, Dim block)
    : numbers(std::move(arguments)) {
  for (const HandBuffer& buffer : filled) buffers.emplace_back(buffer.elements, buffer.value);
  settings.grid = grid;
  settings.block = block;
}

void HandLaunch::run(const Program& program, const std::string& name) {
  std::vector<float*> pointers;
  std::vector<Region> memory;
  for (std::vector<float>& buffer : buffers) {
    pointers.push_back(buffer.data());
    memory.push_back({buffer.data(), static_cast<int64_t>(buffer.size() * sizeof(float)), defined});
  }
  if (same_memory) pointers.push_back(pointers[0]);
  std::vector<void*> parameters;
  for (float*& pointer : pointers) parameters.push_back(&pointer);
  for (long long& number : numbers) parameters.push_back(&number);
  program.launch(name, settings, parameters, memory);
}

std::string fault(const Program& program, const std::string& name, HandLaunch& launch) {
  try {
    launch.run(program, name);
  } catch (const Fault& error) {
    return error.what();
  }
  return "";
}

std::string planted(std::string text, const std::string& name, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  if (at == std::string::npos || text.find(what, at + 1) != std::string::npos)
    throw std::runtime_error("not one '" + what + "' to make " + name);
  text.replace(at, what.size(), by);
  const std::string old = " " + kernel_head(text).name + "(";
  text.replace(text.find(old), old.size(), " " + name + "(");
  return text;
}

HandLaunch block_sums() { return {{{1280, 3}, {5, 0}, {1, 0}, {1, 0}}, {5}, {5}, {256}}; }

}  // namespace kb::simt
