#include "runtime/cuda/nvrtc.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/error.h"

namespace kb::cuda {
namespace {

// The libraries to try, the newest first: an older one beside it knows fewer architectures.
constexpr const char* kNvrtcLibraries[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                           "/usr/local/cuda/lib64/libnvrtc.so"};

Nvrtc ask(std::shared_ptr<const NvrtcFunctions> functions) {
  Nvrtc nvrtc;
  nvrtc.functions = std::move(functions);
  const NvrtcFunctions& call = *nvrtc.functions;
  call(call.version, &nvrtc.major, &nvrtc.minor);
  int count = 0;
  call(call.count_archs, &count);
  nvrtc.archs.resize(static_cast<size_t>(count));
  call(call.supported_archs, nvrtc.archs.data());
  std::sort(nvrtc.archs.begin(), nvrtc.archs.end());
  return nvrtc;
}

// Owns an NVRTC program, and destroys it at the end.
class Program {
 public:
  Program(const NvrtcFunctions& call, const std::string& text) : call_(call) {
    call(call.create_program, &program_, text.c_str(), "kernels.cu", 0, nullptr, nullptr);
  }
  ~Program() { call_.destroy_program.function(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  NvrtcProgram get() const { return program_; }

  std::string read(const NvrtcFunctions::Size& size_of, const NvrtcFunctions::Bytes& get) const {
    size_t size = 0;
    call_(size_of, program_, &size);
    std::string bytes(size, '\0');
    call_(get, program_, bytes.data());
    return bytes;
  }

 private:
  const NvrtcFunctions& call_;
  NvrtcProgram program_ = nullptr;
};

}  // namespace

void NvrtcFunctions::fail(const char* symbol, int result) const {
  throw InternalError(fmt::format("{} failed: {} ({})", symbol, error_string.function(result), result));
}

bool open_nvrtc(Nvrtc& nvrtc, std::string& why) {
  std::string first;
  for (const char* library : kNvrtcLibraries) {
    auto functions = std::make_shared<NvrtcFunctions>();
    if (open_table(*functions, library, why)) {
      nvrtc = ask(std::move(functions));
      return true;
    }
    const bool loads = functions->version.function != nullptr;  // and lacks another function, which says more
    if (first.empty() || loads) first = why;
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
  const NvrtcFunctions& call = *nvrtc.functions;
  const Program program(call, text);
  std::vector<std::string> options = nvrtc_options();
  options.push_back(target.option);
  if (!another_option.empty()) options.push_back(another_option);
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  const int status = call.compile_program.function(program.get(), static_cast<int>(pointers.size()), pointers.data());
  NvrtcResult result;
  result.log = program.read(call.log_size, call.log);
  if (!result.log.empty() && result.log.back() == '\0') result.log.pop_back();
  if (status != 0) {
    result.log += call.error_string.function(status);
    return result;
  }
  result.image = target.ptx ? program.read(call.ptx_size, call.ptx) : program.read(call.cubin_size, call.cubin);
  return result;
}

}  // namespace kb::cuda
