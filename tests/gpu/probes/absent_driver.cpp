// A libcuda.so.1 without a device. Some of cuDNN's engines compile their kernels when a plan is built; they look up the
// driver's functions and load what they compiled. Here every kernel loads, and every call that needs a device fails, so
// that these plans can be built without a driver.
#define KB_MAKING(X) \
  X(cuLibraryLoadData) X(cuLibraryGetKernel) X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleGetFunction)
#define KB_SUCCEEDING(X) X(cuLibraryUnload) X(cuModuleUnload) X(cuKernelSetAttribute) X(cuFuncSetAttribute)
// clang-format off
#define KB_FAILING(X) \
  X(cuInit) X(cuGetProcAddress_v2) X(cuGetErrorString) X(cuGetErrorName) X(cuDeviceGet) X(cuDeviceGetCount) \
  X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxReset) X(cuDevicePrimaryCtxRelease) \
  X(cuCtxGetLimit) X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuStreamGetCtx) \
  X(cuStreamSynchronize) X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuLaunchCooperativeKernel) \
  X(cuOccupancyMaxPotentialClusterSize) X(cuOccupancyMaxActiveBlocksPerMultiprocessor) X(cuLinkCreate) \
  X(cuLinkCreate_v2) X(cuLinkAddData) X(cuLinkAddData_v2) X(cuLinkAddFile_v2) X(cuLinkComplete) X(cuLinkDestroy) \
  X(cuLibraryLoadFromFile) X(cuKernelGetAttribute) X(cuFuncGetAttribute) X(cuModuleLoadFatBinary) \
  X(cuModuleGetGlobal_v2) X(cuMemcpyDtoH_v2) X(cuTensorMapEncodeTiled)
// clang-format on

// A kernel's handle is its own address. 34 is CUDA_ERROR_STUB_LIBRARY.
#define KB_MAKES(name) \
  int name(void** made) { return *made = made, 0; }
#define KB_SUCCEEDS(name) \
  int name() { return 0; }
#define KB_FAILS(name) \
  int name() { return 34; }

extern "C" {
KB_MAKING(KB_MAKES)
KB_SUCCEEDING(KB_SUCCEEDS)
KB_FAILING(KB_FAILS)
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
}
