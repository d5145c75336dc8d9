// NCCL, NVIDIA's library of communication between GPUs, as far as Kilobatch calls it: its own declarations and a table
// of functions, filled from libnccl.so.2 or by a test. Types have the tags of <nccl.h>.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "graph/dtype.h"
#include "runtime/cuda/driver.h"

struct ncclComm;

namespace kb::cuda {

using NcclComm = ncclComm*;

// Names a group of ranks: made by one of them, given to all.
struct NcclId {
  char bytes[128];
};

using NcclResult = int;
inline constexpr NcclResult kNcclSuccess = 0, kNcclInvalidUsage = 5, kNcclRemoteError = 6, kNcclInProgress = 7;

enum class NcclType : int { bytes = 1, i32 = 2, u32 = 3, f16 = 6, f32 = 7, f64 = 8, bf16 = 9 };
NcclType nccl_type(DType dtype);  // of a dtype that can be summed
enum class NcclOp : int { sum = 0 };

struct Nccl : FunctionTable {
  // nccl(nccl.group_start): throws Error unless it gives kNcclSuccess.
  template <class... P, class... A>
  void operator()(const Call<P...>& call, A... arguments) const {
    if (const NcclResult result = call.function(arguments...); result != kNcclSuccess) fail(call.symbol, result);
  }
  [[noreturn]] void fail(const char* symbol, NcclResult result) const;
  std::string version_text() const;  // "NCCL 2.28.9"

  CallOf<const char*, NcclResult> get_error_string{slots, "ncclGetErrorString"};
  Call<int*> get_version{slots, "ncclGetVersion"};
  Call<NcclId*> get_unique_id{slots, "ncclGetUniqueId"};
  Call<NcclComm*, int, NcclId, int> comm_init_rank{slots, "ncclCommInitRank"};  // ranks, id, rank; waits for all
  Call<NcclComm> comm_destroy{slots, "ncclCommDestroy"};
  // Ends what is under way. Returns when no captured graph holds work of it.
  Call<NcclComm> comm_abort{slots, "ncclCommAbort"};
  Call<NcclComm, NcclResult*> comm_async_error{slots, "ncclCommGetAsyncError"};
  // Everything from a start to its end goes at the same time.
  Call<> group_start{slots, "ncclGroupStart"};
  Call<> group_end{slots, "ncclGroupEnd"};
  Call<const void*, size_t, NcclType, int, NcclComm, Stream> send{slots, "ncclSend"};
  Call<void*, size_t, NcclType, int, NcclComm, Stream> receive{slots, "ncclRecv"};
  Call<const void*, void*, size_t, NcclType, NcclOp, NcclComm, Stream> all_reduce{slots, "ncclAllReduce"};
};

// Send and receive came with 2.7, both in captured graphs with 2.9, sums of bf16 with 2.10.
inline constexpr int kLeastNccl = 21000;

// Throws Error where it is older than that.
void check_version(const Nccl& nccl);

// The library where the loader finds it, or the toolkit has it. Throws Error where there is none.
std::unique_ptr<const Nccl> open_nccl();
std::unique_ptr<const Nccl> open_nccl(const char* library);

}  // namespace kb::cuda
