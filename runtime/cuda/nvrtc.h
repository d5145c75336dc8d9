// NVRTC, CUDA's run-time compiler, as far as Kilobatch calls it: its own declarations and a table of functions, filled
// from the library where one is found. So it needs no toolkit to build, and no device to run.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

struct _nvrtcProgram;

namespace kb::cuda {

using NvrtcProgram = _nvrtcProgram*;

// Functions by the names that libnvrtc exports; every one gives 0 where it succeeds.
struct Nvrtc {
  int (*nvrtcVersion)(int* major, int* minor) = nullptr;
  int (*nvrtcGetNumSupportedArchs)(int* count) = nullptr;
  int (*nvrtcGetSupportedArchs)(int* archs) = nullptr;
  int (*nvrtcCreateProgram)(NvrtcProgram*, const char* text, const char* name, int headers, const char* const* texts,
                            const char* const* names) = nullptr;
  int (*nvrtcDestroyProgram)(NvrtcProgram*) = nullptr;
  int (*nvrtcCompileProgram)(NvrtcProgram, int count, const char* const* options) = nullptr;
  int (*nvrtcGetCUBINSize)(NvrtcProgram, size_t*) = nullptr;
  int (*nvrtcGetCUBIN)(NvrtcProgram, char*) = nullptr;
  int (*nvrtcGetPTXSize)(NvrtcProgram, size_t*) = nullptr;
  int (*nvrtcGetPTX)(NvrtcProgram, char*) = nullptr;
  int (*nvrtcGetProgramLogSize)(NvrtcProgram, size_t*) = nullptr;
  int (*nvrtcGetProgramLog)(NvrtcProgram, char*) = nullptr;
  const char* (*nvrtcGetErrorString)(int) = nullptr;

  int major = 0, minor = 0;
  std::vector<int> archs;  // that it compiles for: 75, 80, 86, ..., sorted
};

// The first of libnvrtc.so.13, .12, .so that loads, from where the loader looks or /usr/local/cuda. False, with the
// reason and how to get it, where there is none.
bool open_nvrtc(Nvrtc& nvrtc, std::string& why);

// The form of code for a device of compute capability `arch`: its own cubin, else the cubin of a lesser one that it
// runs too, else PTX, which the driver compiles. The choice throws Error if NVRTC is too new for the device.
struct NvrtcTarget {
  std::string option;  // "-arch=sm_90"
  bool ptx = false;
  std::string message;  // empty: exact
};
NvrtcTarget choose_nvrtc_target(const Nvrtc& nvrtc, int arch);

// An image of `text`; where NVRTC refuses it, `image` is empty and `log` says why.
struct NvrtcResult {
  std::string image;  // cubin, or PTX with its final zero
  std::string log;
};
NvrtcResult run_nvrtc(const Nvrtc& nvrtc, const NvrtcTarget& target, const std::string& text,
                      const std::string& another_option = "");

// Options beside the architecture, each on its own; part of every key.
std::vector<std::string> nvrtc_options();

}  // namespace kb::cuda
