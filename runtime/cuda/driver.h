// The part of the CUDA driver API that Kilobatch uses. The declarations are our own, so that all but the plug-in is
// built and tested without a toolkit. The table of functions is filled from libcuda.so.1 or by a test. Types have the
// tags of <cuda.h>, so a Stream here is a CUstream there, and a cudaStream_t too.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "graph/error.h"
#include "runtime/cuda/function_table.h"

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphExec_st;

namespace kb::cuda {

using Device = int;  // handle of the device with an ordinal
using Context = CUctx_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Module = CUmod_st*;
using Kernel = CUfunc_st*;
using Captured = CUgraph_st*;
using CapturedExec = CUgraphExec_st*;
using Address = unsigned long long;  // an address in device memory

using Result = int;
inline constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kNoDevice = 100,
                        kInvalidImage = 200, kInvalidContext = 201, kNoBinaryForGpu = 209, kUnsupportedPtx = 222,
                        kNotFound = 500, kNotReady = 600, kIllegalAddress = 700, kLaunchFailed = 719,
                        kCaptureUnsupported = 900, kCaptureInvalidated = 901, kCaptureUnmatched = 903,
                        kCaptureUnjoined = 904;

enum class DeviceAttribute : int {
  multiprocessors = 16,
  l2_cache_bytes = 38,
  capability_major = 75,
  capability_minor = 76,
  most_block_storage = 97  // bytes of shared memory that a block can ask for
};
enum class KernelAttribute : int {
  most_dynamic_shared_bytes = 8,
  shared_percent = 9,  // preferred share of shared memory in what it and the L1 cache have together
};
enum class CaptureMode : int { thread_local_ = 1 };
inline constexpr unsigned kStreamNonBlocking = 1;  // such a stream does not wait for the null stream
inline constexpr unsigned kEventTimed = 0, kEventUntimed = 2;

// Device faults concern work on the device, enqueued by the failing call or any before it. The context is lost with
// one: every later call returns the same. Hardware faults come from broken memory or links and not from the work.
inline constexpr bool is_hardware_fault(Result result) {
  constexpr Result kMemory = 214, kNvlink = 220, kContained = 226;
  return result == kMemory || result == kNvlink || result == kContained;
}
inline constexpr bool is_device_fault(Result result) {
  // All codes from kStackError to kLaunchFailed are faults.
  constexpr Result kTimeout = 702, kAssert = 710, kStackError = 714;
  constexpr Result kTensorMemoryLeak = 721;
  return is_hardware_fault(result) || result == kIllegalAddress || result == kTimeout || result == kAssert ||
         (result >= kStackError && result <= kLaunchFailed) || result == kTensorMemoryLeak;
}

// A failed call of the driver. Where it is known in which schedule step it happened, the runtime makes an InternalError
// of this and adds the step.
class CallError : public Error {
 public:
  CallError(std::string_view call, Result result, std::string_view name, std::string_view text);
  Result result() const { return result_; }
  // Returns what() without the hint how to find the step whose work failed.
  const std::string& failure() const { return failure_; }

 private:
  CallError(std::string failure, Result result);
  Result result_;
  std::string failure_;
};

// Functions by the names that libcuda.so.1 exports; "_v2" is part of a name.
struct Driver : FunctionTable {
  [[noreturn]] void fail(const char* symbol, Result result) const override;  // throws CallError
  // Returns the bytes of the current device's memory that no process uses.
  int64_t free_bytes() const;

  Call<Result, const char**> get_error_name{slots, "cuGetErrorName"};
  Call<Result, const char**> get_error_string{slots, "cuGetErrorString"};
  Call<unsigned> init{slots, "cuInit"};
  Call<int*> driver_version{slots, "cuDriverGetVersion"};
  Call<int*> device_count{slots, "cuDeviceGetCount"};
  Call<Device*, int> device_get{slots, "cuDeviceGet"};
  Call<char*, int, Device> device_name{slots, "cuDeviceGetName"};
  Call<int*, DeviceAttribute, Device> device_attribute{slots, "cuDeviceGetAttribute"};
  Call<char*, int, Device> device_bus_id{slots, "cuDeviceGetPCIBusId"};
  Call<Context*, Device> context_retain{slots, "cuDevicePrimaryCtxRetain"};
  Call<Device> context_release{slots, "cuDevicePrimaryCtxRelease_v2"};
  Call<Context> context_set_current{slots, "cuCtxSetCurrent"};

  Call<size_t*, size_t*> memory_info{slots, "cuMemGetInfo_v2"};  // gives free and total bytes
  Call<Address*, size_t> memory_allocate{slots, "cuMemAlloc_v2"};
  Call<Address> memory_free{slots, "cuMemFree_v2"};
  Call<void**, size_t, unsigned> host_allocate{slots, "cuMemHostAlloc"};  // page-locked memory
  Call<void*> host_free{slots, "cuMemFreeHost"};
  Call<Address, const void*, size_t, Stream> copy_to_device{slots, "cuMemcpyHtoDAsync_v2"};
  Call<void*, Address, size_t, Stream> copy_to_host{slots, "cuMemcpyDtoHAsync_v2"};
  Call<Address, Address, size_t, Stream> copy_on_device{slots, "cuMemcpyDtoDAsync_v2"};
  Call<Address, unsigned char, size_t, Stream> fill_bytes{slots, "cuMemsetD8Async"};

  Call<Stream*, unsigned> stream_create{slots, "cuStreamCreate"};
  Call<Stream> stream_destroy{slots, "cuStreamDestroy_v2"};
  Call<Stream> stream_synchronize{slots, "cuStreamSynchronize"};
  Call<Stream> stream_query{slots, "cuStreamQuery"};  // kNotReady: work is left
  Call<Stream, Event, unsigned> stream_wait{slots, "cuStreamWaitEvent"};
  Call<Event*, unsigned> event_create{slots, "cuEventCreate"};
  Call<Event> event_destroy{slots, "cuEventDestroy_v2"};
  Call<Event, Stream> event_record{slots, "cuEventRecord"};
  Call<Event> event_synchronize{slots, "cuEventSynchronize"};
  Call<Event> event_query{slots, "cuEventQuery"};
  Call<float*, Event, Event> event_elapsed{slots, "cuEventElapsedTime"};  // gives milliseconds between two events

  Call<Module*, const void*> module_load{slots, "cuModuleLoadData"};
  Call<Module> module_unload{slots, "cuModuleUnload"};
  Call<Kernel*, Module, const char*> module_function{slots, "cuModuleGetFunction"};
  Call<Kernel, KernelAttribute, int> function_attribute{slots, "cuFuncSetAttribute"};
  // The arguments are kernel, grid x y z, block x y z, dynamic shared bytes, stream, parameters, extra.
  Call<Kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**> launch{
      slots, "cuLaunchKernel"};

  Call<Stream, CaptureMode> capture_begin{slots, "cuStreamBeginCapture_v2"};
  Call<Stream, Captured*> capture_end{slots, "cuStreamEndCapture"};
  Call<CapturedExec*, Captured, unsigned long long> graph_instantiate{slots, "cuGraphInstantiateWithFlags"};
  Call<CapturedExec, Stream> graph_upload{slots, "cuGraphUpload"};
  Call<CapturedExec, Stream> graph_launch{slots, "cuGraphLaunch"};
  Call<Captured> graph_destroy{slots, "cuGraphDestroy"};
  Call<CapturedExec> graph_exec_destroy{slots, "cuGraphExecDestroy"};
};

}  // namespace kb::cuda
