// Checks our declarations of NCCL against its header, if it is installed.
#if __has_include(<nccl.h>)
#include <nccl.h>

#include "runtime/cuda/nccl.h"
#include "runtime/cuda/toolkit/same_call.h"

namespace {

using namespace kb::cuda;

#define KB_CHECK(member, function) \
  static_assert(SameCall<ncclResult_t, decltype(Nccl::member)::Function, decltype(&::function)>::value, #function)
KB_CHECK(get_error_string, ncclGetErrorString);
KB_CHECK(get_version, ncclGetVersion);
KB_CHECK(get_unique_id, ncclGetUniqueId);
KB_CHECK(comm_init_rank, ncclCommInitRank);
KB_CHECK(comm_destroy, ncclCommDestroy);
KB_CHECK(comm_abort, ncclCommAbort);
KB_CHECK(comm_async_error, ncclCommGetAsyncError);
KB_CHECK(group_start, ncclGroupStart);
KB_CHECK(group_end, ncclGroupEnd);
KB_CHECK(send, ncclSend);
KB_CHECK(receive, ncclRecv);
KB_CHECK(all_reduce, ncclAllReduce);

#define KB_EQUAL(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs)
KB_EQUAL(sizeof(NcclId), NCCL_UNIQUE_ID_BYTES);
KB_EQUAL(kNcclSuccess, ncclSuccess);
KB_EQUAL(kNcclInvalidUsage, ncclInvalidUsage);
KB_EQUAL(kNcclRemoteError, ncclRemoteError);
KB_EQUAL(kNcclInProgress, ncclInProgress);
KB_EQUAL(NcclType::bytes, ncclUint8);
KB_EQUAL(NcclType::i32, ncclInt32);
KB_EQUAL(NcclType::u32, ncclUint32);
KB_EQUAL(NcclType::f16, ncclFloat16);
KB_EQUAL(NcclType::f32, ncclFloat32);
KB_EQUAL(NcclType::f64, ncclFloat64);
KB_EQUAL(NcclType::bf16, ncclBfloat16);
KB_EQUAL(NcclOp::sum, ncclSum);
KB_EQUAL(kLeastNccl, NCCL_VERSION(2, 10, 0));

}  // namespace
#endif
