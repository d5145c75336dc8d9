// The part of NVRTC, CUDA's run-time compiler, that Kilobatch calls. The declarations are our own, and the table of
// functions is filled from the library if one is found. So no toolkit is needed to build, and no device to compile
// kernels.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/function_table.h"

struct _nvrtcProgram;

namespace kb::cuda {

using NvrtcProgram = _nvrtcProgram*;

struct NvrtcFunctions : FunctionTable {
  [[noreturn]] void fail(const char* symbol, int result) const override;  // throws InternalError

  using Size = Call<NvrtcProgram, size_t*>;
  using Bytes = Call<NvrtcProgram, char*>;
  Call<int*, int*> version{slots, "nvrtcVersion"};
  Call<int*> count_archs{slots, "nvrtcGetNumSupportedArchs"};
  Call<int*> supported_archs{slots, "nvrtcGetSupportedArchs"};
  // Takes the text, its name, and the number, texts and names of headers.
  Call<NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*> create_program{
      slots, "nvrtcCreateProgram"};
  Call<NvrtcProgram*> destroy_program{slots, "nvrtcDestroyProgram"};
  Call<NvrtcProgram, int, const char* const*> compile_program{slots, "nvrtcCompileProgram"};
  Size cubin_size{slots, "nvrtcGetCUBINSize"};
  Bytes cubin{slots, "nvrtcGetCUBIN"};
  Size ptx_size{slots, "nvrtcGetPTXSize"};
  Bytes ptx{slots, "nvrtcGetPTX"};
  Size log_size{slots, "nvrtcGetProgramLogSize"};
  Bytes log{slots, "nvrtcGetProgramLog"};
  CallOf<const char*, int> error_string{slots, "nvrtcGetErrorString"};
};

struct Nvrtc {
  std::shared_ptr<const NvrtcFunctions> functions;
  int major = 0, minor = 0;
  std::vector<int> archs;  // architectures that it compiles for, sorted: 75, 80, 86 and so on
};

// Opens the first of libnvrtc.so.13, .12 and .so that loads, from the loader's places or /usr/local/cuda. Returns
// false, with the reason and a hint in `why`, when there is none.
bool open_nvrtc(Nvrtc& nvrtc, std::string& why);

// Returns whether kernels for the architecture may multiply matrices by warpgroups (wgmma): for sm_90 alone, as it is
// the only instruction set that has them, named sm_90a.
constexpr bool has_warpgroups(int arch) { return arch == 90; }

// The form of code for a device of compute capability `arch`: its own cubin, else a cubin for a lower one that the
// device also runs, else PTX, which the driver compiles. Throws Error when NVRTC is too new for the device.
struct NvrtcTarget {
  std::string option;  // a text: "-arch=sm_90"
  bool ptx = false;
  std::string message;  // says that the form is not the device's own cubin; else empty
};
NvrtcTarget choose_nvrtc_target(const Nvrtc& nvrtc, int arch);

// The image of `text`. If NVRTC refuses the text, `image` is empty and `log` says why.
struct NvrtcResult {
  std::string image;  // cubin, or PTX with its final zero
  std::string log;
};
NvrtcResult run_nvrtc(const Nvrtc& nvrtc, const NvrtcTarget& target, const std::string& text,
                      const std::string& another_option = "");

// Returns the options beside the architecture, one a string; they enter every key.
std::vector<std::string> nvrtc_options();

}  // namespace kb::cuda
