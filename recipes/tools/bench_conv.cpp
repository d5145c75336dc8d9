// summary: time of every convolution of ResNet-50 alone, in NHWC and in blocked layout, by our kernels and by the
// library
//
// Times every convolution of ResNet-50 (forward and both gradients) alone, in NHWC and in blocked layout. The sum of
// the faster ones is a lower bound of the time of a training step on this machine. Calls of our own kernels are timed
// by the library alone, too.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "graph/dtype.h"
#include "recipes/config/command_line.h"
#include "recipes/inspect/conv_times.h"
#include "recipes/run/tool.h"
#include "runtime/processor.h"

namespace kb {
namespace {

// The timers of one measurement: calls as a training step makes them, and by the library without our kernels.
struct Timers {
  ConvTimer ours, library;
  Timers(int threads, int shards, int repeats)
      : ours(threads, shards, repeats), library(threads, shards, repeats, false) {}
};

// Sums over layers: milliseconds in each layout, in the faster one of each call, and in the faster one by the library
// alone; floating-point operations.
struct Totals {
  double nhwc = 0, blocked = 0, faster = 0, library = 0, flops = 0;

  void add(const Totals& other, int count) {
    nhwc += count * other.nhwc;
    blocked += count * other.blocked;
    faster += count * other.faster;
    library += count * other.library;
    flops += count * other.flops;
  }
};

// Times one call in each layout, and prints its line unless it is to be quiet.
Totals measure(Timers& timers, const ConvLayer& layer, ConvKind kind, int64_t block, bool quiet) {
  const ConvSpec nhwc = in_layout(layer.spec, kind, 0), blocked = in_layout(layer.spec, kind, block);
  Totals one{.nhwc = timers.ours.time(nhwc)};
  const std::string first = timers.ours.implementation();
  one.blocked = timers.ours.time(blocked);
  const std::string second = timers.ours.implementation();
  one.faster = std::min(one.nhwc, one.blocked);
  one.library = std::min(timers.library.time(nhwc), timers.library.time(blocked));
  one.flops = 2.0 * nhwc.n * nhwc.o * nhwc.out_h() * nhwc.out_w() * nhwc.c * nhwc.kh * nhwc.kw;
  if (quiet) return one;
  fmt::print("{:11} {:4} -> {:4}  {:3}x{:<3} k{} s{} x{}  {:8.2f} {:6.0f}  {:8.2f} {:6.0f}  {:8.2f} {:5.2f}  {} | {}\n",
             name(kind), nhwc.c, nhwc.o, nhwc.h, nhwc.w, nhwc.kh, nhwc.stride[0], layer.count, one.nhwc,
             one.flops / one.nhwc * 1e-6, one.blocked, one.flops / one.blocked * 1e-6, one.library,
             one.library / one.faster, first, second);
  return one;
}

// Prints the sums over the layers: a line for each kind of convolution, and one for all.
void print_totals(const std::map<ConvKind, Totals>& totals, const Totals& all) {
  fmt::print("\n{:14} {:>9} {:>7} {:>9} {:>7} {:>11} {:>13} {:>5}\n", "sum of 53", "NHWC", "GFLOP/s", "blocked",
             "GFLOP/s", "the faster", "library alone", "ratio");
  const auto print = [](const char* what, const Totals& sum) {
    fmt::print("{:14} {:6.0f} ms {:7.0f} {:6.0f} ms {:7.0f} {:8.0f} ms {:10.0f} ms {:5.2f}\n", what, sum.nhwc,
               sum.flops / sum.nhwc * 1e-6, sum.blocked, sum.flops / sum.blocked * 1e-6, sum.faster, sum.library,
               sum.library / sum.faster);
  };
  for (const auto& [kind, sum] : totals) print(name(kind), sum);
  print("step", all);
}

void print_json(const Totals& all, int64_t minibatch, const std::string& precision, const ConvTimer& timer) {
  fmt::print(R"({{"nhwc_ms":{:.3f},"blocked_ms":{:.3f},"faster_ms":{:.3f},"library_ms":{:.3f},)"
             R"("samples_per_s":{:.3f},"plan_ms":{:.3f},"threads":{},"precision":"{}"}})"
             "\n",
             all.nhwc, all.blocked, all.faster, all.library, minibatch * 1000.0 / all.faster, timer.plan_ms(),
             timer.threads(), precision);
}

}  // namespace

int bench_conv_command(const ToolArguments& arguments) {
  int64_t minibatch = 16;
  int threads = 0, shards = 0, repeats = 5;
  std::string precision = "f32";
  bool json = false;
  CommandLine line("Times ResNet-50's convolutions alone, in NHWC and in blocked layout, and by the library alone.",
                   "./run bench_conv [--minibatch N] [--precision P]");
  line.whole({"--minibatch", "N", "samples"}, minibatch, 1)
      .choice({"--precision", "P", "f32, bf16, f16 or f64"}, precision, {"f32", "bf16", "f16", "f64"})
      .whole({"--threads", "N", "threads; 0: one a processor"}, threads, 0, 4096)
      .whole({"--shards", "N", "parts of a call; 0: as many as threads"}, shards, 0)
      .whole({"--repeats", "N", "runs of each call, of which the fastest counts"}, repeats, 1)
      .flag("--json", json, "one object instead of the table");
  if (!line.parse(arguments.words)) return 0;

  const int pool = threads > 0 ? threads : Pool().threads();
  Timers timers(pool, shards > 0 ? shards : pool, repeats);
  const int64_t block = instruction_set() == "avx512" ? 16 : 8;
  if (!json) {
    fmt::print(
        "{}, {} threads, minibatch {}, {}; milliseconds and GFLOP/s in NHWC and in blocks of {}; milliseconds of "
        "the library alone, and their ratio to the faster layout's\n",
        timers.ours.library(), timers.ours.threads(), minibatch, precision, block);
  }
  std::map<ConvKind, Totals> totals;
  Totals all;
  for (const ConvKind kind : kConvKinds) {
    for (const ConvLayer& layer : resnet50_convolutions(minibatch, parse_dtype(precision))) {
      if (!trains(layer, kind)) continue;
      totals[kind].add(measure(timers, layer, kind, block, json), layer.count);
    }
    all.add(totals[kind], 1);
  }
  if (json) {
    print_json(all, minibatch, precision, timers.ours);
    return 0;
  }
  print_totals(totals, all);
  fmt::print("convolutions alone: {:.2f} images/s; all plans made in {:.0f} ms\n", minibatch * 1000.0 / all.faster,
             timers.ours.plan_ms());
  return 0;
}

}  // namespace kb
