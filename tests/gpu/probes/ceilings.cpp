// gpu_ceilings [BYTES [EXTENT]] measures two limits of a GPU, through the backend that runs its steps: a copy of BYTES
// on the device (2 GiB), and a product of two EXTENT x EXTENT matrices of bf16 (8192). It prints lines for people, then
// one JSON object. Exit code 1: there is no GPU, or a call fails.
#include <fmt/format.h>

#include "graph/error.h"
#include "recipes/config/flags.h"
#include "recipes/perf/copy_bandwidth.h"
#include "recipes/run/guarded_main.h"
#include "runtime/cuda/open.h"
#include "runtime/json.h"
#include "tests/gpu/checks/matmul_rate.h"

namespace {

using namespace kb;

int64_t number(const std::vector<std::string>& words, size_t at, int64_t otherwise) {
  if (at >= words.size()) return otherwise;
  int64_t value = 0;
  for (const char c : words[at]) {
    if (c < '0' || c > '9' || value > 1'000'000'000'000)
      throw UsageError("gpu_ceilings [BYTES [EXTENT]]: got " + words[at]);
    value = 10 * value + (c - '0');
  }
  return value;
}

int ceilings(const std::vector<std::string>& words) {
  const int64_t bytes = number(words, 0, int64_t{2} << 30), extent = number(words, 1, 8192);
  if (bytes < 1024 || extent < 8) throw UsageError("gpu_ceilings: expected at least 1024 bytes and an extent of 8");
  const std::unique_ptr<Backend> backend = open_cuda_backend({});
  fmt::print("{}\n", backend->description());
  std::fflush(stdout);
  const double copy = device_copy_rate(*backend, bytes);
  fmt::print("copy of {} MiB: {:.0f} GB/s (read + write)\n", bytes >> 20, copy / 1e9);
  std::fflush(stdout);
  const test::MatmulRate rate = test::device_matmul_rate(*backend, extent);
  fmt::print("matmul {0} x {0} x {0}, bf16: {1:.1f} TFLOP/s at best, median {2:.1f}\n", extent, rate.best / 1e12,
             rate.median / 1e12);
  const Json object = {{"device", backend->description()},
                       {"copy_bytes", bytes},
                       {"copy_gb_per_s", copy / 1e9},
                       {"matmul_extent", extent},
                       {"matmul_tflop_per_s_best", rate.best / 1e12},
                       {"matmul_tflop_per_s_median", rate.median / 1e12}};
  fmt::print("{}\n", object.dump());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return kb::guarded_main("gpu_ceilings", [&] { return ceilings({argv + 1, argv + argc}); });
}
