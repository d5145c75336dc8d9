// summary: time of every convolution of ResNet-50 alone, in NHWC and in blocked layout
//
// Times every convolution of ResNet-50 (forward and both gradients) alone, in NHWC and in blocked layout. The sum of
// the faster ones is a lower bound of the time of a training step with this library on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "graph/dtype.h"
#include "recipes/config/command_line.h"
#include "recipes/inspect/conv_times.h"
#include "recipes/run/guarded_main.h"
#include "runtime/processor.h"

namespace kb {
namespace {

// Sums over layers: milliseconds in each layout and in the faster one of each call, and floating-point operations.
struct Totals {
  double nhwc = 0, blocked = 0, faster = 0, flops = 0;
};

void measure(ConvTimer& bench, const ConvLayer& layer, ConvKind kind, int64_t block, Totals& totals, bool quiet) {
  const ConvSpec nhwc = in_layout(layer.spec, kind, 0), blocked = in_layout(layer.spec, kind, block);
  const double a = bench.time(nhwc);
  const std::string first = bench.implementation();
  const double b = bench.time(blocked);
  const double flops = 2.0 * nhwc.n * nhwc.o * nhwc.out_h() * nhwc.out_w() * nhwc.c * nhwc.kh * nhwc.kw;
  if (!quiet) {
    fmt::print("{:11} {:4} -> {:4}  {:3}x{:<3} k{} s{} x{}  {:8.2f} {:6.0f}  {:8.2f} {:6.0f}  {} | {}\n", name(kind),
               nhwc.c, nhwc.o, nhwc.h, nhwc.w, nhwc.kh, nhwc.stride[0], layer.count, a, flops / a * 1e-6, b,
               flops / b * 1e-6, first, bench.implementation());
  }
  totals.nhwc += layer.count * a;
  totals.blocked += layer.count * b;
  totals.faster += layer.count * std::min(a, b);
  totals.flops += layer.count * flops;
}

// Prints the sums over the layers: a line for each kind of convolution, and one for all.
void print_totals(const std::map<ConvKind, Totals>& totals, const Totals& all) {
  fmt::print("\n{:14} {:>9} {:>7} {:>9} {:>7} {:>11}\n", "sum of 53", "NHWC", "GFLOP/s", "blocked", "GFLOP/s",
             "the faster");
  const auto print = [](const char* what, const Totals& sum) {
    fmt::print("{:14} {:6.0f} ms {:7.0f} {:6.0f} ms {:7.0f} {:8.0f} ms\n", what, sum.nhwc, sum.flops / sum.nhwc * 1e-6,
               sum.blocked, sum.flops / sum.blocked * 1e-6, sum.faster);
  };
  for (const auto& [kind, sum] : totals) print(name(kind), sum);
  print("step", all);
}

int bench_conv(int argc, char** argv) {
  int64_t minibatch = 16;
  int threads = 0, shards = 0, repeats = 5;
  std::string precision = "f32";
  bool json = false;
  CommandLine line("Times ResNet-50's convolutions alone, in NHWC and in blocked layout.",
                   "./run bench_conv [--minibatch N] [--precision P]");
  line.whole({"--minibatch", "N", "samples"}, minibatch, 1)
      .choice({"--precision", "P", "f32, bf16, f16 or f64"}, precision, {"f32", "bf16", "f16", "f64"})
      .whole({"--threads", "N", "threads; 0: one a processor"}, threads, 0, 4096)
      .whole({"--shards", "N", "parts of a call; 0: as many as threads"}, shards, 0)
      .whole({"--repeats", "N", "runs of each call, of which the fastest counts"}, repeats, 1)
      .flag("--json", json, "one object instead of the table");
  if (!line.parse({argv + 1, argv + argc})) return 0;

  const int pool = threads > 0 ? threads : Pool().threads();
  ConvTimer bench(pool, shards > 0 ? shards : pool, repeats);
  const int64_t block = instruction_set() == "avx512" ? 16 : 8;
  if (!json) {
    fmt::print("{}, {} threads, minibatch {}, {}; milliseconds and GFLOP/s in NHWC and in blocks of {}\n",
               bench.library(), bench.threads(), minibatch, precision, block);
  }
  std::map<ConvKind, Totals> totals;
  Totals all;
  for (const ConvKind kind : kConvKinds) {
    Totals& sum = totals[kind];
    for (const ConvLayer& layer : resnet50_convolutions(minibatch, parse_dtype(precision))) {
      if (!trains(layer, kind)) continue;
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
  print_totals(totals, all);
  fmt::print("convolutions alone: {:.2f} images/s; all plans made in {:.0f} ms\n", minibatch * 1000.0 / all.faster,
             bench.plan_ms());
  return 0;
}

}  // namespace

int bench_conv_program(int argc, char** argv) {
  return guarded_main("bench_conv", [&] { return bench_conv(argc, argv); });
}

}  // namespace kb
