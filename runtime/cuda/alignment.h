// The alignments, in bytes, that calls of cuDNN and cuBLASLt are planned with: of every operand's address, and of the
// start of a workspace and of its parts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "graph/error.h"
#include "graph/rounding.h"

namespace kb::cuda {

// Every buffer of ours begins at a multiple of 64 bytes, and so does every parameter in the flat vectors (in their
// 16-bit copy, at a multiple of 32).
inline constexpr int64_t kOperandAlignment = 16;
inline constexpr int64_t kWorkspaceAlignment = 256;

// Throws InternalError, which names the call ("matmul"), if an operand does not lie at a multiple of kOperandAlignment.
inline void check_operand(const char* call, const void* address) {
  if (reinterpret_cast<uintptr_t>(address) % kOperandAlignment != 0)
    throw InternalError(std::string(call) + ": an operand that does not lie at a multiple of 16 bytes");
}

// Returns the least multiple of a workspace's alignment that is no less than `bytes`.
inline int64_t workspace_aligned(int64_t bytes) { return round_up(bytes, kWorkspaceAlignment); }

// Returns the first place in `scratch` at which a workspace may start.
inline std::byte* workspace_in(void* scratch) {
  return reinterpret_cast<std::byte*>(workspace_aligned(reinterpret_cast<intptr_t>(scratch)));
}

}  // namespace kb::cuda
