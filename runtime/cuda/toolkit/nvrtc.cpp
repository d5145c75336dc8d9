// Checks our declarations of NVRTC against the toolkit's.
#include "runtime/cuda/nvrtc.h"

#include <nvrtc.h>

#include "runtime/cuda/toolkit/same_call.h"

namespace {

using namespace kb::cuda;

#define KB_CHECK(member, function)                                                                               \
  static_assert(SameCall<nvrtcResult, decltype(NvrtcFunctions::member)::Function, decltype(&::function)>::value, \
                #function)
KB_CHECK(version, nvrtcVersion);
KB_CHECK(count_archs, nvrtcGetNumSupportedArchs);
KB_CHECK(supported_archs, nvrtcGetSupportedArchs);
KB_CHECK(create_program, nvrtcCreateProgram);
KB_CHECK(destroy_program, nvrtcDestroyProgram);
KB_CHECK(compile_program, nvrtcCompileProgram);
KB_CHECK(cubin_size, nvrtcGetCUBINSize);
KB_CHECK(cubin, nvrtcGetCUBIN);
KB_CHECK(ptx_size, nvrtcGetPTXSize);
KB_CHECK(ptx, nvrtcGetPTX);
KB_CHECK(log_size, nvrtcGetProgramLogSize);
KB_CHECK(log, nvrtcGetProgramLog);
KB_CHECK(error_string, nvrtcGetErrorString);
static_assert(NVRTC_SUCCESS == 0);

}  // namespace
