// summary: time of every convolution of ResNet-50 alone, in NHWC and in blocked layout
//
// Times every convolution of ResNet-50 (forward and both gradients) alone, in NHWC and in blocked layout, and adds up
// the faster ones: what a training step cannot be shorter than with this library on this machine.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/dtype.h"
#include "runtime/cpu/library.h"
#include "runtime/processor.h"

namespace {

using namespace kb;

struct Layer {
  ConvSpec spec;  // kind forward, blocks 1
  int count = 0;  // of such layers in the net
};

// The paper's net with the stride on the 3x3 convolution; distinct layers with their counts, 53 in all.
std::vector<Layer> resnet50(int64_t n, DType dtype) {
  std::vector<Layer> layers;
  const auto add = [&](int64_t c, int64_t o, int64_t size, int64_t kernel, int64_t stride) {
    ConvSpec s{.dtype = dtype, .n = n, .c = c, .h = size, .w = size, .o = o, .kh = kernel, .kw = kernel};
    s.stride[0] = s.stride[1] = stride;
    s.padding[0] = s.padding[1] = kernel / 2;
    const auto same = [&](const Layer& l) {
      return l.spec.c == c && l.spec.o == o && l.spec.h == size && l.spec.kh == kernel && l.spec.stride[0] == stride;
    };
    const auto found = std::find_if(layers.begin(), layers.end(), same);
    if (found == layers.end())
      layers.push_back({s, 1});
    else
      ++found->count;
  };
  add(3, 64, 224, 7, 2);
  int64_t channels = 64, size = 56;
  const std::array<int, 4> depths{3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t width = int64_t{64} << stage;
    for (int block = 0; block < depths[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      add(channels, width, size, 1, 1);
      add(width, width, size, 3, stride);
      if (block == 0) add(channels, 4 * width, size, 1, stride);
      size /= stride;
      add(width, 4 * width, size, 1, 1);
      channels = 4 * width;
    }
  }
  return layers;
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

// Zero is no slower than any other value to multiply; NaN and denormals, which fresh memory might hold, are.
Memory zeros(size_t bytes) {
  Memory memory(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
  std::fill_n(static_cast<char*>(memory.get()), bytes, 0);
  return memory;
}

class Bench {
 public:
  Bench(int threads, int shards, int repeats) : pool_(threads), shards_(shards), repeats_(repeats) {}

  // The least time of one call, milliseconds.
  double time(const ConvSpec& spec) {
    const auto start = Clock::now();
    const auto op = plan_conv(context_, spec, shards_);
    plan_ms_ += since(start);
    implementation_ = op->implementation();
    const int64_t x = spec.n * spec.c * spec.h * spec.w, y = spec.n * spec.o * spec.out_h() * spec.out_w();
    const int64_t element = size_of(spec.dtype), w = spec.o * spec.c / spec.groups * spec.kh * spec.kw;
    const Memory ax = zeros(x * element), ay = zeros(y * element), scratch = zeros(op->scratch_bytes() + 64);
    const bool grad = spec.kind == ConvKind::weight_grad;
    const size_t packed = grad ? 0 : packed_weight_bytes(context_, spec);
    const Memory aw = zeros(std::max<size_t>(packed, w * std::max<int64_t>(element, 4)));
    const bool input_grad = spec.kind == ConvKind::input_grad;
    const void* in[] = {input_grad ? ay.get() : ax.get(), grad ? ay.get() : aw.get()};
    void* out[] = {grad ? aw.get() : input_grad ? ax.get() : ay.get()};
    double least = 1e30;
    for (int i = 0; i <= repeats_; ++i) {
      const auto begin = Clock::now();
      op->run(pool_, in, out, scratch.get());
      if (i > 0) least = std::min(least, since(begin));
    }
    return least;
  }

  const std::string& implementation() const { return implementation_; }
  double plan_ms() const { return plan_ms_; }
  std::string library() const { return context_.name(); }
  int threads() const { return pool_.threads(); }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }

  LibraryContext context_;
  Pool pool_;
  int shards_, repeats_;
  double plan_ms_ = 0;
  std::string implementation_;
};

struct Totals {
  double nhwc = 0, blocked = 0, faster = 0, flops = 0;
};

constexpr const char* kKinds[] = {"forward", "input_grad", "weight_grad"};

void measure(Bench& bench, const Layer& layer, ConvKind kind, int64_t block, Totals& totals, bool quiet) {
  ConvSpec nhwc = layer.spec, blocked = layer.spec;
  nhwc.kind = blocked.kind = kind;
  nhwc.block_in = nhwc.c;
  nhwc.block_out = nhwc.o;
  blocked.block_in = blocked.c % block == 0 ? block : 1;
  blocked.block_out = block;
  const double a = bench.time(nhwc);
  const std::string first = bench.implementation();
  const double b = bench.time(blocked);
  const double flops = 2.0 * nhwc.n * nhwc.o * nhwc.out_h() * nhwc.out_w() * nhwc.c * nhwc.kh * nhwc.kw;
  if (!quiet) {
    fmt::print("{:11} {:4} -> {:4}  {:3}x{:<3} k{} s{} x{}  {:8.2f} {:6.0f}  {:8.2f} {:6.0f}  {} | {}\n",
               kKinds[static_cast<int>(kind)], nhwc.c, nhwc.o, nhwc.h, nhwc.w, nhwc.kh, nhwc.stride[0], layer.count, a,
               flops / a * 1e-6, b, flops / b * 1e-6, first, bench.implementation());
  }
  totals.nhwc += layer.count * a;
  totals.blocked += layer.count * b;
  totals.faster += layer.count * std::min(a, b);
  totals.flops += layer.count * flops;
}

}  // namespace

int main(int argc, char** argv) try {
  int64_t minibatch = 16;
  int threads = 0, shards = 0, repeats = 5;
  std::string precision = "f32";
  bool json = false;
  CLI::App app("Times ResNet-50's convolutions alone, in NHWC and in blocked layout.");
  app.add_option("--minibatch", minibatch, "samples")->capture_default_str();
  app.add_option("--precision", precision, "f32 | bf16 | f16 | f64")->capture_default_str();
  app.add_option("--threads", threads, "threads; 0: one a processor")->capture_default_str();
  app.add_option("--shards", shards, "parts of a call; 0: as many as threads")->capture_default_str();
  app.add_option("--repeats", repeats, "runs of each call, of which the fastest counts")->capture_default_str();
  app.add_flag("--json", json, "one object instead of the table");
  CLI11_PARSE(app, argc, argv);

  const int pool = threads > 0 ? threads : Pool().threads();
  Bench bench(pool, shards > 0 ? shards : pool, repeats);
  const int64_t block = instruction_set() == "avx512" ? 16 : 8;
  if (!json) {
    fmt::print("{}, {} threads, minibatch {}, {}; milliseconds and GFLOP/s in NHWC and in blocks of {}\n",
               bench.library(), bench.threads(), minibatch, precision, block);
  }
  std::map<ConvKind, Totals> totals;
  Totals all;
  for (const ConvKind kind : {ConvKind::forward, ConvKind::input_grad, ConvKind::weight_grad}) {
    Totals& sum = totals[kind];
    for (const Layer& layer : resnet50(minibatch, parse_dtype(precision))) {
      if (kind == ConvKind::input_grad && layer.spec.c == 3) continue;  // images have no gradient
      measure(bench, layer, kind, block, sum, json);
    }
    all.nhwc += sum.nhwc;
    all.blocked += sum.blocked;
    all.faster += sum.faster;
    all.flops += sum.flops;
  }
  if (json) {
    fmt::print(R"({{"nhwc_ms":{:.3f},"blocked_ms":{:.3f},"faster_ms":{:.3f},"samples_per_s":{:.3f},"plan_ms":{:.3f},)"
               R"("threads":{},"precision":"{}"}})"
               "\n",
               all.nhwc, all.blocked, all.faster, minibatch * 1000.0 / all.faster, bench.plan_ms(), bench.threads(),
               precision);
    return 0;
  }
  fmt::print("\n{:14} {:>9} {:>7} {:>9} {:>7} {:>11}\n", "sum of 53", "NHWC", "GFLOP/s", "blocked", "GFLOP/s",
             "the faster");
  for (const auto& [kind, sum] : totals)
    fmt::print("{:14} {:6.0f} ms {:7.0f} {:6.0f} ms {:7.0f} {:8.0f} ms\n", kKinds[static_cast<int>(kind)], sum.nhwc,
               sum.flops / sum.nhwc * 1e-6, sum.blocked, sum.flops / sum.blocked * 1e-6, sum.faster);
  fmt::print("{:14} {:6.0f} ms {:7.0f} {:6.0f} ms {:7.0f} {:8.0f} ms\n", "step", all.nhwc, all.flops / all.nhwc * 1e-6,
             all.blocked, all.flops / all.blocked * 1e-6, all.faster);
  fmt::print("convolutions alone: {:.2f} images/s; all plans made in {:.0f} ms\n", minibatch * 1000.0 / all.faster,
             bench.plan_ms());
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
