// Checks our declarations of the driver against the toolkit's.
#include "runtime/cuda/driver.h"

#include <cuda.h>

#include "runtime/cuda/toolkit/same_call.h"

namespace {

using namespace kb::cuda;

// cuda.h renames some of these to the newest version; the table's symbols name the version that has these arguments.
#define KB_CHECK(member, function) \
  static_assert(SameCall<CUresult, decltype(Driver::member)::Function, decltype(&::function)>::value, #function)
KB_CHECK(get_error_name, cuGetErrorName);
KB_CHECK(get_error_string, cuGetErrorString);
KB_CHECK(init, cuInit);
KB_CHECK(driver_version, cuDriverGetVersion);
KB_CHECK(device_count, cuDeviceGetCount);
KB_CHECK(device_get, cuDeviceGet);
KB_CHECK(device_name, cuDeviceGetName);
KB_CHECK(device_attribute, cuDeviceGetAttribute);
KB_CHECK(device_bus_id, cuDeviceGetPCIBusId);
KB_CHECK(context_retain, cuDevicePrimaryCtxRetain);
KB_CHECK(context_release, cuDevicePrimaryCtxRelease);
KB_CHECK(context_set_current, cuCtxSetCurrent);
KB_CHECK(memory_info, cuMemGetInfo);
KB_CHECK(memory_allocate, cuMemAlloc);
KB_CHECK(memory_free, cuMemFree);
KB_CHECK(host_allocate, cuMemHostAlloc);
KB_CHECK(host_free, cuMemFreeHost);
KB_CHECK(copy_to_device, cuMemcpyHtoDAsync);
KB_CHECK(copy_to_host, cuMemcpyDtoHAsync);
KB_CHECK(copy_on_device, cuMemcpyDtoDAsync);
KB_CHECK(fill_bytes, cuMemsetD8Async);
KB_CHECK(stream_create, cuStreamCreate);
KB_CHECK(stream_destroy, cuStreamDestroy);
KB_CHECK(stream_synchronize, cuStreamSynchronize);
KB_CHECK(stream_query, cuStreamQuery);
KB_CHECK(stream_wait, cuStreamWaitEvent);
KB_CHECK(event_create, cuEventCreate);
KB_CHECK(event_destroy, cuEventDestroy);
KB_CHECK(event_record, cuEventRecord);
KB_CHECK(event_synchronize, cuEventSynchronize);
KB_CHECK(event_query, cuEventQuery);
KB_CHECK(event_elapsed, cuEventElapsedTime);
KB_CHECK(module_load, cuModuleLoadData);
KB_CHECK(module_unload, cuModuleUnload);
KB_CHECK(module_function, cuModuleGetFunction);
KB_CHECK(function_attribute, cuFuncSetAttribute);
KB_CHECK(launch, cuLaunchKernel);
KB_CHECK(capture_begin, cuStreamBeginCapture);
KB_CHECK(capture_end, cuStreamEndCapture);
KB_CHECK(graph_instantiate, cuGraphInstantiateWithFlags);
KB_CHECK(graph_upload, cuGraphUpload);
KB_CHECK(graph_launch, cuGraphLaunch);
KB_CHECK(graph_destroy, cuGraphDestroy);
KB_CHECK(graph_exec_destroy, cuGraphExecDestroy);

#define KB_EQUAL(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs)
KB_EQUAL(kSuccess, CUDA_SUCCESS);
KB_EQUAL(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
KB_EQUAL(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
KB_EQUAL(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
KB_EQUAL(kNoDevice, CUDA_ERROR_NO_DEVICE);
KB_EQUAL(kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
KB_EQUAL(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
KB_EQUAL(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
KB_EQUAL(kUnsupportedPtx, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
KB_EQUAL(kNotFound, CUDA_ERROR_NOT_FOUND);
KB_EQUAL(kNotReady, CUDA_ERROR_NOT_READY);
KB_EQUAL(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
KB_EQUAL(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
static_assert(is_device_fault(CUDA_ERROR_ILLEGAL_ADDRESS) && is_device_fault(CUDA_ERROR_LAUNCH_TIMEOUT) &&
              is_device_fault(CUDA_ERROR_ASSERT) && is_device_fault(CUDA_ERROR_HARDWARE_STACK_ERROR) &&
              is_device_fault(CUDA_ERROR_ILLEGAL_INSTRUCTION) && is_device_fault(CUDA_ERROR_MISALIGNED_ADDRESS) &&
              is_device_fault(CUDA_ERROR_INVALID_ADDRESS_SPACE) && is_device_fault(CUDA_ERROR_INVALID_PC) &&
              is_device_fault(CUDA_ERROR_LAUNCH_FAILED));
static_assert(is_hardware_fault(CUDA_ERROR_ECC_UNCORRECTABLE) && is_hardware_fault(CUDA_ERROR_NVLINK_UNCORRECTABLE) &&
              is_device_fault(CUDA_ERROR_ECC_UNCORRECTABLE));
#if CUDA_VERSION >= 13000
static_assert(is_hardware_fault(CUDA_ERROR_CONTAINED) && is_device_fault(CUDA_ERROR_TENSOR_MEMORY_LEAK));
#endif
static_assert(!is_device_fault(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) &&
              !is_device_fault(CUDA_ERROR_CONTEXT_IS_DESTROYED) &&
              !is_device_fault(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE));
KB_EQUAL(kCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
KB_EQUAL(kCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
KB_EQUAL(kCaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
KB_EQUAL(kCaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
KB_EQUAL(DeviceAttribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
KB_EQUAL(DeviceAttribute::l2_cache_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
KB_EQUAL(DeviceAttribute::capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
KB_EQUAL(DeviceAttribute::capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
KB_EQUAL(DeviceAttribute::most_block_storage, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
KB_EQUAL(KernelAttribute::most_dynamic_shared_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
KB_EQUAL(KernelAttribute::shared_percent, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
KB_EQUAL(CaptureMode::thread_local_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
KB_EQUAL(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
KB_EQUAL(kEventTimed, CU_EVENT_DEFAULT);
KB_EQUAL(kEventUntimed, CU_EVENT_DISABLE_TIMING);

}  // namespace
