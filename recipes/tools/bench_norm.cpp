// summary: fused batch norm + add + ReLU, forward and backward, against this machine's copy bandwidth
//
// The fused form needs twelve passes over arrays of (rows, channels) f32 numbers: forward x; x, r, z; backward x, z,
// dz; x, z, dz, dx, dr. The limit is the better of a plain and a non-temporal copy of arrays of the same size by the
// same threads in the same round, counting reads and writes. The result is the median of the rounds' ratios, because
// the bandwidth of a shared machine varies by more than the differences of interest.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/pipeline/pipeline.h"
#include "compiler/schedule/describe_steps.h"
#include "graph/layers.h"
#include "recipes/config/command_line.h"
#include "recipes/perf/copy_bandwidth.h"
#include "recipes/perf/rounds.h"
#include "recipes/run/tool.h"
#include "runtime/session.h"

namespace kb {
namespace {

constexpr int64_t kPasses = 12;    // arrays read or written
constexpr int64_t kReadAlone = 4;  // those that launches without an array to write read

Graph norm_graph(int64_t rows, int64_t channels) {
  Graph g("norm");
  Dims shape{rows, channels};
  Tensor x = input(g, "x", DType::f32, shape, "NC"), r = input(g, "r", DType::f32, shape, "NC");
  Tensor dz = input(g, "dz", DType::f32, shape, "NC");
  Tensor z = relu(batch_norm("bn", x) + r);
  std::vector<Tensor> d = gradients(sum(z * dz), {x, r, Tensor(g, g.read("bn.weight")), Tensor(g, g.read("bn.bias"))});
  const char* names[] = {"dx", "dr", "dweight", "dbias"};
  g.outputs.push_back({"z", z.value(), Merge::per_sample});
  for (size_t i = 0; i < d.size(); ++i)
    g.outputs.push_back({names[i], d[i].value(), i < 2 ? Merge::per_sample : Merge::sum});
  return g;
}

// Times of one round, in milliseconds.
struct NormRound {
  double step, plain, streaming, reading;
  double copied_pass() const { return std::min(plain, streaming) / 2; }
  double limit() const {
    return static_cast<double>(kPasses - kReadAlone) * copied_pass() + static_cast<double>(kReadAlone) * reading;
  }
};

void fill_inputs(Session& session, int64_t count) {
  for (const char* name : {"x", "r", "dz"}) {
    auto* data = reinterpret_cast<float*>(session.input(name));
    for (int64_t i = 0; i < count; ++i) data[i] = static_cast<float>((i * 7919 % 1000) / 500.0 - 1.0);
  }
}

// Prints the time, the bytes and the bandwidth of each launch.
void print_steps(Session& session) {
  const std::vector<StepTime> times = session.profile().steps;
  const auto& steps = session.compiled().program.at(PartRole::final).steps;
  const std::vector<StepDescription> words = describe_steps(session.compiled().program.at(PartRole::final));
  for (size_t s = 0; s < steps.size(); ++s)
    fmt::print("{:7.2f} ms {:6.1f} MB {:6.1f} GB/s  {}\n", times[s].milliseconds,
               static_cast<double>(steps[s].bytes) / 1e6,
               static_cast<double>(steps[s].bytes) / times[s].milliseconds / 1e6, words[s].text());
}

NormRound round_of(Session& session, CopyBandwidth& copy) {
  return {milliseconds_of([&] { session.step(); }), milliseconds_of([&] { copy.plain(); }),
          milliseconds_of([&] { copy.streaming(); }), milliseconds_of([&] { copy.reading(); })};
}

}  // namespace

int bench_norm_command(const ToolArguments& arguments) {
  int64_t rows = 16 * 56 * 56, channels = 256;
  int repeats = 40, threads = 0;
  CommandLine line("Fused batch norm + add + ReLU, forward and backward, against copy bandwidth.",
                   "./run bench_norm [--rows N] [--channels N]");
  line.whole({"--rows", "N", "samples x height x width"}, rows, 1)
      .whole({"--channels", "N", "channels"}, channels, 1)
      .whole({"--repeats", "N", "interleaved rounds; the median ratio counts"}, repeats, 1)
      .whole({"--threads", "N", "threads; 0: all cores"}, threads, 0, 4096);
  if (!line.parse(arguments.words)) return 0;

  CpuOptions cpu;
  cpu.threads = threads;
  std::unique_ptr<Backend> backend = make_cpu_backend(cpu);
  CompileOptions options;
  options.target = backend->target();
  Compiled compiled = compile(norm_graph(rows, channels), options);
  StateStore store(*backend);
  Session session(*backend, store, std::move(compiled));
  store.initialise(1);
  fill_inputs(session, rows * channels);

  CopyBandwidth copy(rows * channels * 4, threads);
  std::vector<NormRound> rounds;
  session.step();
  for (int i = 0; i < repeats; ++i) rounds.push_back(round_of(session, copy));
  const double bytes = static_cast<double>(rows * channels * 4);
  const auto typical = [&](auto figure) { return median(rounds, figure); };
  fmt::print(
      "{} launches; medians of {} interleaved rounds: step {:.2f} ms, plain copy {:.1f}, non-temporal {:.1f}, reading "
      "alone {:.1f} GB/s\n",
      session.compiled().program.at(PartRole::final).steps.size(), repeats,
      typical([](const NormRound& r) { return r.step; }),
      typical([&](const NormRound& r) { return 2 * bytes / r.plain / 1e6; }),
      typical([&](const NormRound& r) { return 2 * bytes / r.streaming / 1e6; }),
      typical([&](const NormRound& r) { return bytes / r.reading / 1e6; }));
  const double share = typical([](const NormRound& r) { return kPasses * r.copied_pass() / r.step; });
  fmt::print("share of copy bandwidth {:.3f}{}; with what is read alone at that rate {:.3f}\n", share,
             share > 1 ? " (above 1, for a part of the bytes is in the processor's cache)" : "",
             typical([](const NormRound& r) { return r.limit() / r.step; }));
  print_steps(session);
  return 0;
}

}  // namespace kb
