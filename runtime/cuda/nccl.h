// The part of NCCL, NVIDIA's library for communication between GPUs, that Kilobatch calls. The declarations are our
// own; the table of functions is filled from libnccl.so.2 or by a test. Types have the tags of <nccl.h>.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "graph/dtype.h"
#include "runtime/cuda/driver.h"

struct ncclComm;

namespace kb::cuda {

using NcclComm = ncclComm*;

// Names a group of ranks. One rank makes it and gives it to all.
struct NcclId {
  char bytes[128];
};

using NcclResult = int;
inline constexpr NcclResult kNcclSuccess = 0, kNcclInvalidUsage = 5, kNcclRemoteError = 6, kNcclInProgress = 7;

enum class NcclType : int { bytes = 1, i32 = 2, u32 = 3, f16 = 6, f32 = 7, f64 = 8, bf16 = 9 };
NcclType nccl_type(DType dtype);  // takes a dtype that can be summed
enum class NcclOp : int { sum = 0 };

struct Nccl : FunctionTable {
  [[noreturn]] void fail(const char* symbol, NcclResult result) const override;  // throws Error
  std::string version_text() const;                                              // a text: "NCCL 2.28.9"

  CallOf<const char*, NcclResult> get_error_string{slots, "ncclGetErrorString"};
  Call<int*> get_version{slots, "ncclGetVersion"};
  Call<NcclId*> get_unique_id{slots, "ncclGetUniqueId"};
  // Takes the number of ranks, id and rank; waits for all ranks.
  Call<NcclComm*, int, NcclId, int> comm_init_rank{slots, "ncclCommInitRank"};
  Call<NcclComm> comm_destroy{slots, "ncclCommDestroy"};
  // Ends all active work. It returns when no captured graph has work of the group.
  Call<NcclComm> comm_abort{slots, "ncclCommAbort"};
  Call<NcclComm, NcclResult*> comm_async_error{slots, "ncclCommGetAsyncError"};
  // All calls between a start and its end are executed together.
  Call<> group_start{slots, "ncclGroupStart"};
  Call<> group_end{slots, "ncclGroupEnd"};
  Call<const void*, size_t, NcclType, int, NcclComm, Stream> send{slots, "ncclSend"};
  Call<void*, size_t, NcclType, int, NcclComm, Stream> receive{slots, "ncclRecv"};
  Call<const void*, void*, size_t, NcclType, NcclOp, NcclComm, Stream> all_reduce{slots, "ncclAllReduce"};
};

// Version 2.7 brought send and receive, 2.9 both in captured graphs, and 2.10 sums of bf16.
inline constexpr int kLeastNccl = 21000;

// Throws Error when the library is older than kLeastNccl.
void check_version(const Nccl& nccl);

// Opens the library, found by the loader or in the toolkit's folder. Throws Error when there is none.
std::unique_ptr<const Nccl> open_nccl();
std::unique_ptr<const Nccl> open_nccl(const char* library);

}  // namespace kb::cuda
