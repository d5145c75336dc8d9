// The resources of a multiprocessor that a kernel takes, read from its cubin (an ELF file). NVIDIA's binary utilities
// describe the format under the names EIATTR_REGCOUNT and EIATTR_FRAME_SIZE; the results were compared with `ptxas -v`.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kb::cuda {

struct KernelResources {
  std::string name;
  int64_t registers = 0;     // registers of a thread
  int64_t shared_bytes = 0;  // shared memory of a block, without what the device keeps for itself
  int64_t local_bytes = 0;   // local memory of a thread: spilled registers, and arrays that are not in registers
};

bool is_cubin(std::string_view image);
// Returns the resources of every kernel in `cubin`, in the order of names. Throws InternalError when it is no cubin.
std::vector<KernelResources> kernel_resources(std::string_view cubin);

}  // namespace kb::cuda
