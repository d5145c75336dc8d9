// summary: all-reduce over the processes of this machine, each algorithm, against MPI_Allreduce
//
// If started alone, the program starts itself under mpirun. In each round every algorithm reduces the same array once,
// after a barrier. A time is that of the slowest rank; the ratio to MPI_Allreduce is the median of the rounds' ratios.
// The processor time is the sum over all ranks and includes waiting.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "graph/error.h"
#include "recipes/config/command_line.h"
#include "recipes/perf/rounds.h"
#include "recipes/run/tool.h"
#include "runtime/comm/measure_network.h"
#include "runtime/comm/open.h"
#include "runtime/launch.h"
#include "runtime/process.h"

namespace kb {
namespace {

constexpr Algorithm kAlgorithms[] = {Algorithm::halving_doubling, Algorithm::ring, Algorithm::mpi,
                                     Algorithm::mpi_blocking};
constexpr size_t kCount = std::size(kAlgorithms);

struct Sample {
  double seconds, processor_seconds;
};
// One sample per algorithm, in the order of kAlgorithms.
using AllReduceRound = std::array<Sample, kCount>;

// Returns the processor time of this process since its start.
double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Returns the time of the slowest rank and the sum of all ranks' processor times.
Sample over_ranks(Communicator& communicator, const Sample& own) {
  Sample all{0, 0};
  for (const std::string& bytes : communicator.all_gather({reinterpret_cast<const char*>(&own), sizeof own})) {
    Sample one;
    std::memcpy(&one, bytes.data(), sizeof one);
    all = {std::max(all.seconds, one.seconds), all.processor_seconds + one.processor_seconds};
  }
  return all;
}

Sample reduce_once(Communicator& communicator, Algorithm algorithm, std::vector<float>& data) {
  std::fill(data.begin(), data.end(), static_cast<float>(communicator.rank() + 1));
  communicator.choose(algorithm);
  communicator.barrier();
  const double before = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  const auto elements = static_cast<int64_t>(data.size());
  communicator.wait(communicator.all_reduce(reinterpret_cast<std::byte*>(data.data()), elements, DType::f32));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const double processor = processor_seconds() - before;
  const auto sum = static_cast<float>(communicator.size() * (communicator.size() + 1) / 2);
  if (std::any_of(data.begin(), data.end(), [&](float x) { return x != sum; }))
    throw Error(fmt::format("rank {}: the sum by {} is wrong", communicator.rank(), name(algorithm)));
  return over_ranks(communicator, {took.count(), processor});
}

void print(const Communicator& communicator, const std::vector<AllReduceRound>& rounds, double bytes) {
  const int ranks = communicator.size();
  fmt::print("{:g} MB of f32 over {} ranks, median of {} rounds\n", bytes / 1e6, ranks, rounds.size());
  fmt::print("{:<18}{:>10}{:>12}{:>18}{:>14}\n", "", "ms", "bus GB/s", "x MPI_Allreduce", "processor ms");
  for (size_t i = 0; i < kCount; ++i) {
    const double seconds = median(rounds, [&](const AllReduceRound& r) { return r[i].seconds; });
    fmt::print("{:<18}{:>10.2f}{:>12.2f}{:>18.3f}{:>14.1f}\n", name(kAlgorithms[i]), 1e3 * seconds,
               2 * bytes * (ranks - 1) / ranks / seconds / 1e9,
               median(rounds, [&](const AllReduceRound& r) { return r[i].seconds / r[kCount - 1].seconds; }),
               1e3 * median(rounds, [&](const AllReduceRound& r) { return r[i].processor_seconds; }));
  }
}

void bench(Communicator& communicator, double megabytes, int repeats) {
  std::vector<float> data(static_cast<size_t>(megabytes * 1e6 / 4));
  std::vector<AllReduceRound> rounds(static_cast<size_t>(repeats) + 1);
  for (AllReduceRound& round : rounds)
    for (size_t i = 0; i < kCount; ++i) round[i] = reduce_once(communicator, kAlgorithms[i], data);
  rounds.erase(rounds.begin());  // the first round is slower, because it touches the memory for the first time
  const Network network = measure_network(communicator);
  if (communicator.rank() != 0) return;
  print(communicator, rounds, static_cast<double>(data.size()) * 4);
  fmt::print("network: {:.1f} us a step, {:.2f} GB/s each way with the sums\n", network.latency * 1e6,
             network.bandwidth / 1e9);
}

}  // namespace

int bench_all_reduce_command(const ToolArguments& arguments) {
  double megabytes = 100;
  int processes = 4, repeats = 15;
  CommandLine line("All-reduce over the processes of this machine, each algorithm, against MPI_Allreduce.",
                   "./run bench_all_reduce [--processes P] [--megabytes MB]");
  line.positive({"--megabytes", "MB", "size of the array of f32, in units of 1e6 bytes"}, megabytes, 1e6)
      .whole({"--repeats", "N", "interleaved rounds"}, repeats, 1)
      .whole({"--processes", "P", "processes, which mpirun starts unless a launcher did"}, processes, 2, 1024);
  if (!line.parse(arguments.words)) return 0;
  const RuntimeOptions options = RuntimeOptions::from_environment();
  if (options.launcher.processes == 1) {
    std::vector<std::string> words = arguments.words;
    words.insert(words.begin(), own_program());
    return run_launcher(mpirun_command(options.mpirun, processes, words));
  }
  bench(*open_communicator({}, options.launcher), megabytes, repeats);
  return 0;
}

}  // namespace kb
