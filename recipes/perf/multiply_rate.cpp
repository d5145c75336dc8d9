#include "recipes/perf/multiply_rate.h"

#include <algorithm>
#include <vector>

#include "recipes/perf/rounds.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kb {
namespace {

constexpr int64_t kRounds = 400'000;  // multiply-adds of each chain in one trial
// Number of independent sums, which must exceed latency (cycles) times number of the vector units of any core.
constexpr int kChains = 12;
constexpr int kMultiplyTrials = 25;  // enough that a moment of another process does not spoil all

// A factor below 1 keeps the sums finite. The chains start at different values, else the compiler would merge them.
constexpr float kFactor = 0.999f, kTerm = 0.001f;

struct Work {
  float (*run)(int64_t rounds);
  int64_t lanes;  // f32 numbers of one vector
};

#if defined(__x86_64__)
[[gnu::target("avx512f")]] float chains512(int64_t rounds) {
  __m512 sums[kChains], factor = _mm512_set1_ps(kFactor), term = _mm512_set1_ps(kTerm);
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) sums[c] = _mm512_set1_ps(static_cast<float>(c));
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = _mm512_fmadd_ps(sums[c], factor, term);
  }
#pragma GCC unroll 12
  for (int c = 1; c < kChains; ++c) sums[0] = _mm512_add_ps(sums[0], sums[c]);
  return _mm512_cvtss_f32(sums[0]);
}

[[gnu::target("avx2,fma")]] float chains256(int64_t rounds) {
  __m256 sums[kChains], factor = _mm256_set1_ps(kFactor), term = _mm256_set1_ps(kTerm);
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) sums[c] = _mm256_set1_ps(static_cast<float>(c));
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = _mm256_fmadd_ps(sums[c], factor, term);
  }
#pragma GCC unroll 12
  for (int c = 1; c < kChains; ++c) sums[0] = _mm256_add_ps(sums[0], sums[c]);
  return _mm256_cvtss_f32(sums[0]);
}
#endif

// Multiplies and then adds vectors of four numbers; it runs on every processor.
float chains128(int64_t rounds) {
  typedef float Vector __attribute__((vector_size(16)));
  Vector sums[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) sums[c] = Vector{} + static_cast<float>(c);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = sums[c] * kFactor + kTerm;
  }
  float total = 0;
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) total += sums[c][0];
  return total;
}

Work work() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {chains512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {chains256, 8};
#endif
  return {chains128, 4};
}

}  // namespace

double measure_multiply_rate(Pool& pool) {
  const Work unit = work();
  const int threads = pool.threads();
  std::vector<float> sinks(static_cast<size_t>(threads));
  double best = 0;
  for (int trial = 0; trial < kMultiplyTrials; ++trial) {
    const double ms = milliseconds_of([&] {
      pool.parallel(threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) sinks[static_cast<size_t>(i)] = unit.run(kRounds);
      });
    });
    const double operations = 2.0 * kRounds * kChains * static_cast<double>(unit.lanes) * threads;
    best = std::max(best, 1e3 * operations / ms);
  }
  return best;
}

}  // namespace kb
