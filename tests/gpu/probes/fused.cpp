// gpu_fused [ARCHITECTURE [few]] tries whether cuDNN takes the kernels around a convolution, fused into it. It prints a
// line for each fusion, dtype and shape: "accepted" with plan, workspace and times, or "refused" and why. With an
// architecture (sm_90) it builds plans for a device that this machine need not have, and times nothing; with `few` it
// tries two fusions in one shape and bf16. Exit code 1: there is no GPU, or a call fails unexpectedly; a refusal is an
// answer.
#include <cudnn.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "graph/error.h"
#include "recipes/config/flags.h"
#include "recipes/run/guarded_main.h"
#include "runtime/cuda/cudnn/convolutions.h"
#include "runtime/cuda/device.h"
#include "tests/gpu/probes/fused_graphs.h"

namespace {

using namespace kb;
using namespace kb::cudnn;

constexpr size_t kTimedPlans = 4;
constexpr std::chrono::seconds kMostTime{75};  // limit on a device: tests/gpu/first gives 90 s
constexpr DType kDtypes[] = {DType::bf16, DType::f16};

// Returns the reasons in cuDNN's messages, each once; cuDNN repeats a reason for every check that it passes on its way
// out.
std::string reasons(const std::string& messages) {
  constexpr std::string_view kBefore = "Reason: ";
  std::string text;
  std::set<std::string> known;
  for (size_t at = messages.find(kBefore); at != std::string::npos; at = messages.find(kBefore, at + 1)) {
    const size_t begin = at + kBefore.size();
    const std::string reason = messages.substr(begin, messages.find('\n', begin) - begin);
    const bool follows = reason.ends_with("()") || reason == "status" || reason.starts_with("check_") ||
                         reason.find("status)") != std::string::npos;
    if (!follows && known.insert(reason).second) text += (text.empty() ? "" : "; ") + reason;
  }
  if (text.empty()) text = messages;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.substr(0, 300);
}

// Returns a case's times as text; empty if nothing is timed.
using Clock = std::function<std::string(const FusedCase&, const FusedGraph&, const FusedAnswer&)>;

void probe(const FusedCase& fused, const cudnn::PlanDevice& device, const Clock& clock) {
  const std::string what = text(fused);
  try {
    const FusedGraph graph = fused_graph(fused, device);
    const FusedAnswer answer = ask(graph.graph, device, clock ? kTimedPlans : 1);
    if (answer.plans.empty())
      fmt::print("{}: refused: {}\n", what, reasons(answer.how));
    else
      fmt::print("{}: accepted: {} plans, {}, workspace {:.1f} MB, planned in {:.0f} ms{}\n", what, answer.plans.size(),
                 answer.how, static_cast<double>(answer.plans.front().workspace) / 1e6, answer.milliseconds,
                 clock ? clock(fused, graph, answer) : "");
  } catch (const InternalError& error) {
    fmt::print("{}: refused: {}\n", what, reasons(error.what()));
  }
  std::fflush(stdout);
}

void on_the_device() {
  cuda::Driver driver;
  std::string why;
  if (!open_table(driver, "libcuda.so.1", why)) throw Error("no GPU can be used: " + why);
  driver(driver.init, 0u);
  const cuda::OpenDevice device(driver, 0);
  const cuda::DeviceHandles handles{driver, device.handle, device.compute, device.capability};
  cudnnHandle_t handle = nullptr;
  check(cudnnCreate(&handle), "cudnnCreate");
  const double rate = copy_rate(handles);
  fmt::print("{} on {}, sm_{}; a copy of 1 GiB: {:.0f} GB/s (read + write)\n", version(), device.name,
             device.capability, rate / 1e9);
  std::map<std::string, double> bare;  // keyed by the convolution
  const auto clock = [&](const FusedCase& fused, const FusedGraph& graph, const FusedAnswer& answer) {
    try {
      const double together = time_fused(handles, handle, graph, answer);
      auto at = bare.find(text(fused.spec));
      if (at == bare.end()) at = bare.emplace(text(fused.spec), time_bare(handles, handle, fused.spec)).first;
      const double apart = 1e3 * static_cast<double>(graph.apart_bytes) / rate;
      return fmt::format("; {:.3f} ms, apart {:.3f} + {:.3f} ms ({:.2f} x)", together, at->second, apart,
                         (at->second + apart) / together);
    } catch (const InternalError& error) {
      return fmt::format("; does not run: {}", reasons(error.what()));
    }
  };
  const auto end = std::chrono::steady_clock::now() + kMostTime;
  for (const FusedCase& fused : resnet50_cases(kDtypes)) {
    if (std::chrono::steady_clock::now() < end)
      probe(fused, cudnn::PlanDevice(handle), clock);
    else
      fmt::print("{}: not asked: {} s are over\n", text(fused), kMostTime.count());
  }
  cudnnDestroy(handle);
}

// Loads the stand-in for the driver if there is no driver. It must be called before cuDNN looks for one.
void stand_in_for_the_driver() {
  if (dlopen("libcuda.so.1", RTLD_NOW)) return;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").replace_filename("libabsent_driver.so");
  if (!dlopen(beside.c_str(), RTLD_NOW))
    fmt::print("NOTE: plans that are compiled when they are built need a driver: {}\n", dlerror());
}

// Returns whether the case is one of those around the gradient of a residual block, or of its forward pass, in bf16.
bool is_among_few(const FusedCase& fused) {
  const bool asked = fused.fusion == Fusion::sums || fused.fusion == Fusion::input_grad_sums;
  return asked && fused.spec.o > fused.spec.c && fused.spec.dtype == DType::bf16;
}

void without_a_device(const std::string& architecture, bool few) {
  stand_in_for_the_driver();
  const cudnn::PlanDevice device(architecture);
  fmt::print("{}, planned for {}, which need not be here\n", version(), architecture);
  for (const FusedCase& fused : resnet50_cases(kDtypes))
    if (!few || is_among_few(fused)) probe(fused, device, nullptr);
}

int fused(const std::vector<std::string>& words) {
  if (words.size() > 2 || (words.size() == 2 && words[1] != "few"))
    throw UsageError("gpu_fused [ARCHITECTURE [few]]: got " + words.back());
  if (words.empty())
    on_the_device();
  else
    without_a_device(words.front(), words.size() == 2);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return kb::guarded_main("gpu_fused", [&] { return fused({argv + 1, argv + argc}); });
}
