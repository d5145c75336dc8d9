// What a kernel takes of a multiprocessor, read from its cubin (an ELF file). Where the format is described: the names
// EIATTR_REGCOUNT and EIATTR_FRAME_SIZE of NVIDIA's binary utilities; checked against `ptxas -v`.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kb::cuda {

struct KernelResources {
  std::string name;
  int64_t registers = 0;     // a thread
  int64_t shared_bytes = 0;  // a block, without what the device keeps for itself
  int64_t local_bytes = 0;   // a thread: spilled registers, and arrays that are not in registers
};

bool is_cubin(std::string_view image);
// Of every kernel in it, by name. InternalError where it is no cubin.
std::vector<KernelResources> kernel_resources(std::string_view cubin);

}  // namespace kb::cuda
