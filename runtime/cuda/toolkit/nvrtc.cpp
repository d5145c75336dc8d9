// Checks our declarations of NVRTC against the toolkit's.
#include <nvrtc.h>

#include <type_traits>

#include "runtime/cuda/nvrtc.h"

namespace {

// Tells whether two functions are equal but for the result, which is an enumeration there and an int here.
template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class Result, class... Arguments>
struct SameCall<int (*)(Arguments...), Result (*)(Arguments...)>
    : std::bool_constant<sizeof(Result) == sizeof(int) && std::is_enum_v<Result>> {};

using kb::cuda::Nvrtc;
#define KB_CHECK(symbol) static_assert(SameCall<decltype(Nvrtc::symbol), decltype(&::symbol)>::value)
KB_CHECK(nvrtcVersion);
KB_CHECK(nvrtcGetNumSupportedArchs);
KB_CHECK(nvrtcGetSupportedArchs);
KB_CHECK(nvrtcCreateProgram);
KB_CHECK(nvrtcDestroyProgram);
KB_CHECK(nvrtcCompileProgram);
KB_CHECK(nvrtcGetCUBINSize);
KB_CHECK(nvrtcGetCUBIN);
KB_CHECK(nvrtcGetPTXSize);
KB_CHECK(nvrtcGetPTX);
KB_CHECK(nvrtcGetProgramLogSize);
KB_CHECK(nvrtcGetProgramLog);
static_assert(std::is_same_v<decltype(&::nvrtcGetErrorString), const char* (*)(nvrtcResult)>);
static_assert(NVRTC_SUCCESS == 0);

}  // namespace
