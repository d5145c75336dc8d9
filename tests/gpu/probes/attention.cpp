// gpu_attention [ARCHITECTURE [few]] says for the attentions of gpt, bert and transformer whether cuDNN's flash kernels
// take them, with which plan and workspace, forward and backward. Without an architecture it needs a GPU and also times
// a step of each: an attention, its gradients and the update of q, k and v, by flash attention and by the composite.
// With one (sm_90) it plans for a device that this machine need not have; with `few` one shape in each mask. Exit code
// 1: a shape is refused, or there is no GPU.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "graph/error.h"
#include "graph/functions.h"
#include "recipes/config/flags.h"
#include "recipes/run/guarded_main.h"
#include "runtime/cuda/cudnn/attentions.h"
#include "runtime/cuda/cudnn/convolutions.h"
#include "runtime/cuda/open.h"
#include "runtime/session.h"
#include "runtime/state_store.h"

namespace {

using namespace kb;

constexpr int64_t kTokens = 65'536;  // tokens of a minibatch: that of gpt 124M
constexpr int64_t kWidth = 768;      // features of all heads
constexpr int kWarmSteps = 5;
constexpr size_t kRounds = 9;

struct Mask {
  const char* text;
  bool causal, lengths;
};
constexpr Mask kMasks[] = {
    {"no mask", false, false}, {"causal", true, false}, {"lengths", false, true}, {"causal, lengths", true, true}};

AttentionSpec spec_of(int64_t features, int64_t length, const Mask& mask, DType dtype) {
  AttentionSpec spec{AttentionShape{kTokens / length, kWidth / features, length, length, features, features}};
  spec.dtype = dtype;
  spec.causal = mask.causal;
  spec.lengths = mask.lengths;
  return spec;
}

// Returns the shapes of the recipes: heads of 32, 64 and 128 features, 64 to 1,024 tokens, and lengths that no tile
// divides.
std::vector<AttentionSpec> all_specs(bool few) {
  std::vector<AttentionSpec> specs;
  const auto add = [&](int64_t features, int64_t length, DType dtype) {
    for (const Mask& mask : kMasks) specs.push_back(spec_of(features, length, mask, dtype));
  };
  if (few) return add(64, 1024, DType::bf16), specs;
  for (const int64_t features : {32, 64, 128})
    for (const int64_t length : {64, 100, 128, 256, 512, 1024}) add(features, length, DType::bf16);
  add(64, 1024, DType::f16);
  return specs;
}

// Plans a call and prints a line; returns whether there is a plan.
bool plan(cudnn::Attentions& attentions, const AttentionSpec& spec) {
  const auto start = std::chrono::steady_clock::now();
  try {
    const auto op = attentions.plan(spec);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    fmt::print("{}: planned: {}, scratch {:.1f} MB, in {:.0f} ms\n", text(spec), op->implementation(),
               static_cast<double>(op->scratch_bytes()) / 1e6, ms);
    return true;
  } catch (const Error& error) {
    fmt::print("{}: refused: {}\n", text(spec), std::string(error.what()).substr(0, 300));
    return false;
  }
}

bool plan_both(cudnn::Attentions& attentions, AttentionSpec spec) {
  const bool forward = plan(attentions, spec);
  spec.backward = true;
  return plan(attentions, spec) && forward;
}

// A training step whose parameters are q, k and v themselves.
Graph step_of(const AttentionSpec& s) {
  Graph graph("attention");
  const auto operand = [&](const char* name, int64_t length, int64_t features) {
    const Type type{DType::f32, {s.n, length, s.heads * features}, ""};
    return parameter(graph, name, Role::weight, type, {InitKind::normal, 0, 1});
  };
  AttentionOptions options{.heads = s.heads, .causal = s.causal};
  if (s.lengths) options.lengths = input(graph, "lengths", DType::i32, {s.n});
  const Tensor q = operand("q", s.t, s.d), k = operand("k", s.s, s.d), v = operand("v", s.s, s.e);
  const Tensor o = attention(q, k, v, options);
  graph.outputs.push_back({"loss", sum(o * operand("weights", s.t, s.e)).value(), Merge::sum});
  return graph;
}

double milliseconds(Backend& backend, const AttentionSpec& spec, bool flash) {
  CompileOptions options;
  options.target = backend.target();
  options.target.has_flash_attention = flash;
  options.precision = spec.dtype == DType::bf16 ? Precision::bf16 : Precision::f16;
  options.groups.push_back(
      {.rule = [](UpdateContext& c) { return c.parameter - c.scalar("learning_rate") * c.gradient; }});
  StateStore store(backend);
  Session session(backend, store, compile(step_of(spec), options));
  session.set_scalar("learning_rate", 1e-3);
  if (session.has_input("lengths")) {
    auto* lengths = reinterpret_cast<int32_t*>(session.input("lengths"));
    for (int64_t n = 0; n < spec.n; ++n) lengths[n] = static_cast<int32_t>(spec.s - n % (spec.s / 2));
  }
  for (int i = 0; i < kWarmSteps; ++i) session.step();
  session.wait();
  std::array<double, kRounds> times{};
  for (double& time : times) {
    const auto start = std::chrono::steady_clock::now();
    session.step();
    session.wait();
    time = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

int on_the_device() {
  const std::unique_ptr<Backend> backend = open_cuda_backend({});
  for (const AttentionSpec& spec : all_specs(false)) {
    if (spec.t % 256 != 0 && spec.d != 64) continue;  // each plan and each step's kernels take seconds to compile
    const double flash = milliseconds(*backend, spec, true), composite = milliseconds(*backend, spec, false);
    fmt::print("{}: {:.3f} ms by flash attention, {:.3f} ms by the composite ({:.2f} x)\n", text(spec), flash,
               composite, composite / flash);
    std::fflush(stdout);
  }
  return 0;
}

// Loads the stand-in for the driver if there is no driver. It must be called before cuDNN looks for one.
void stand_in_for_the_driver() {
  if (dlopen("libcuda.so.1", RTLD_NOW)) return;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").replace_filename("libabsent_driver.so");
  if (!dlopen(beside.c_str(), RTLD_NOW)) throw Error(fmt::format("plans need a driver: {}", dlerror()));
}

int without_a_device(const std::string& architecture, bool few) {
  stand_in_for_the_driver();
  cuda::LibraryPicks picks;
  cudnn::Attentions attentions(architecture, picks);
  fmt::print("{}, planned for {}, which need not be here\n", cudnn::version(), architecture);
  size_t planned = 0;
  const std::vector<AttentionSpec> specs = all_specs(few);
  for (const AttentionSpec& spec : specs) planned += plan_both(attentions, spec);
  fmt::print("{} of {} attentions are planned, forward and backward\n", planned, specs.size());
  return planned == specs.size() ? 0 : 1;
}

int attention_probe(const std::vector<std::string>& words) {
  if (words.size() > 2 || (words.size() == 2 && words[1] != "few"))
    throw UsageError("gpu_attention [ARCHITECTURE [few]]: got " + words.back());
  return words.empty() ? on_the_device() : without_a_device(words.front(), words.size() == 2);
}

}  // namespace

int main(int argc, char** argv) {
  return kb::guarded_main("gpu_attention", [&] { return attention_probe({argv + 1, argv + argc}); });
}
