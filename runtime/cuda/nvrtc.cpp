#include "runtime/cuda/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace kb::cuda {
namespace {

// The libraries to try, the newest first: an older one beside it knows fewer architectures.
constexpr const char* kNvrtcLibraries[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                           "/usr/local/cuda/lib64/libnvrtc.so"};

template <class Function>
bool bind(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

bool bind_all(void* library, Nvrtc& n, std::string& missing) {
  bool all = true;
#define KB_BIND(symbol) \
  if (!bind(library, #symbol, n.symbol)) all = false, missing = #symbol
  KB_BIND(nvrtcVersion);
  KB_BIND(nvrtcGetNumSupportedArchs);
  KB_BIND(nvrtcGetSupportedArchs);
  KB_BIND(nvrtcCreateProgram);
  KB_BIND(nvrtcDestroyProgram);
  KB_BIND(nvrtcCompileProgram);
  KB_BIND(nvrtcGetCUBINSize);
  KB_BIND(nvrtcGetCUBIN);
  KB_BIND(nvrtcGetPTXSize);
  KB_BIND(nvrtcGetPTX);
  KB_BIND(nvrtcGetProgramLogSize);
  KB_BIND(nvrtcGetProgramLog);
  KB_BIND(nvrtcGetErrorString);
#undef KB_BIND
  return all;
}

void check(const Nvrtc& nvrtc, const char* call, int result) {
  if (result != 0)
    throw InternalError(fmt::format("{} failed: {} ({})", call, nvrtc.nvrtcGetErrorString(result), result));
}

void ask(Nvrtc& nvrtc) {
  check(nvrtc, "nvrtcVersion", nvrtc.nvrtcVersion(&nvrtc.major, &nvrtc.minor));
  int count = 0;
  check(nvrtc, "nvrtcGetNumSupportedArchs", nvrtc.nvrtcGetNumSupportedArchs(&count));
  nvrtc.archs.resize(static_cast<size_t>(count));
  check(nvrtc, "nvrtcGetSupportedArchs", nvrtc.nvrtcGetSupportedArchs(nvrtc.archs.data()));
  std::sort(nvrtc.archs.begin(), nvrtc.archs.end());
}

// Owns an NVRTC program, and destroys it at the end.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& text) : nvrtc_(nvrtc) {
    check(nvrtc, "nvrtcCreateProgram",
          nvrtc.nvrtcCreateProgram(&program_, text.c_str(), "kernels.cu", 0, nullptr, nullptr));
  }
  ~Program() { nvrtc_.nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  NvrtcProgram get() const { return program_; }

  std::string read(const char* call, int (*size_of)(NvrtcProgram, size_t*), int (*get)(NvrtcProgram, char*)) const {
    size_t size = 0;
    check(nvrtc_, call, size_of(program_, &size));
    std::string bytes(size, '\0');
    check(nvrtc_, call, get(program_, bytes.data()));
    return bytes;
  }

 private:
  const Nvrtc& nvrtc_;
  NvrtcProgram program_ = nullptr;
};

}  // namespace

bool open_nvrtc(Nvrtc& nvrtc, std::string& why) {
  std::string first;
  for (const char* library : kNvrtcLibraries) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      if (first.empty()) first = dlerror();
      continue;
    }
    std::string missing;
    if (bind_all(handle, nvrtc, missing)) {
      ask(nvrtc);
      return true;
    }
    first = fmt::format("{} has no {}", library, missing);
  }
  why = fmt::format("NVRTC, CUDA's run-time compiler, is missing ({}); it comes with the CUDA toolkit 12 or 13", first);
  return false;
}

NvrtcTarget choose_nvrtc_target(const Nvrtc& nvrtc, int arch) {
  int best = 0;
  for (const int known : nvrtc.archs)
    if (known <= arch) best = known;
  const std::string version = fmt::format("NVRTC {}.{}", nvrtc.major, nvrtc.minor);
  if (best == 0)
    throw Error(
        fmt::format("{} does not know sm_{}\n  got:     a device of compute capability {}.{}\n  hint:    an "
                    "older CUDA toolkit: this one begins at sm_{}",
                    version, arch, arch / 10, arch % 10, nvrtc.archs.empty() ? 0 : nvrtc.archs.front()));
  if (best == arch) return {fmt::format("-arch=sm_{}{}", arch, has_warpgroups(arch) ? "a" : ""), false, ""};
  if (best / 10 == arch / 10)
    return {
        fmt::format("-arch=sm_{}", best), false,
        fmt::format("{} does not know sm_{}: kernels are compiled for sm_{}, which it runs too", version, arch, best)};
  return {fmt::format("-arch=compute_{}", best), true,
          fmt::format("{} does not know sm_{}: kernels are compiled to PTX of compute_{}, and by the driver at each "
                      "start",
                      version, arch, best)};
}

std::vector<std::string> nvrtc_options() {
  return {"--std=c++20", "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false", "-diag-suppress=177"};
}

NvrtcResult run_nvrtc(const Nvrtc& nvrtc, const NvrtcTarget& target, const std::string& text,
                      const std::string& another_option) {
  const Program program(nvrtc, text);
  std::vector<std::string> options = nvrtc_options();
  options.push_back(target.option);
  if (!another_option.empty()) options.push_back(another_option);
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  const int status = nvrtc.nvrtcCompileProgram(program.get(), static_cast<int>(pointers.size()), pointers.data());
  NvrtcResult result;
  result.log = program.read("nvrtcGetProgramLog", nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog);
  if (!result.log.empty() && result.log.back() == '\0') result.log.pop_back();
  if (status != 0) {
    result.log += nvrtc.nvrtcGetErrorString(status);
    return result;
  }
  result.image = target.ptx ? program.read("nvrtcGetPTX", nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
                            : program.read("nvrtcGetCUBIN", nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN);
  return result;
}

}  // namespace kb::cuda
