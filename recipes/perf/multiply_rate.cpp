#include "recipes/perf/multiply_rate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "recipes/perf/rounds.h"
#include "runtime/cpu/amx/tiles.h"
#include "runtime/cpu/amx_available.h"

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
  int64_t operations;        // operations of one round
  int64_t rounds = kRounds;  // rounds of one trial
};

constexpr int64_t of_chains(int64_t multiply_adds) { return 2 * kChains * multiply_adds; }

#if defined(__x86_64__)
// With kBf16 each lane adds two products of bf16. They are products of zeros, which take as long as those of other
// numbers.
template <bool kBf16>
[[gnu::target("avx512f,avx512bf16")]] float chains512(int64_t rounds) {
  __m512 sums[kChains], factor = _mm512_set1_ps(kFactor), term = _mm512_set1_ps(kTerm);
  const __m512bh zeros = __m512bh(_mm512_setzero_si512());
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) sums[c] = _mm512_set1_ps(static_cast<float>(c));
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c)
      sums[c] = kBf16 ? _mm512_dpbf16_ps(sums[c], zeros, zeros) : _mm512_fmadd_ps(sums[c], factor, term);
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

// Four products of matrix tiles a round.
float tiles(int64_t rounds) {
  amx::MachineTiles tiles;
  tiles.begin(amx::kDepth);
  [&]<int... kT>(std::integer_sequence<int, kT...>) { (tiles.clear<kT>(), ...); }
  (std::make_integer_sequence<int, 8>());
  for (int64_t r = 0; r < rounds; ++r) {
    tiles.multiply<0, 4, 6>();
    tiles.multiply<1, 4, 7>();
    tiles.multiply<2, 5, 6>();
    tiles.multiply<3, 5, 7>();
  }
  float sums[amx::kTile];
  tiles.store<0>(sums, 64);
  tiles.end();
  return sums[0];
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

Work work_in_f32() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {chains512<false>, of_chains(16)};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {chains256, of_chains(8)};
#endif
  return {chains128, of_chains(4)};
}

Work work_in(DType dtype) {
#if defined(__x86_64__)
  constexpr int64_t kTileOperations = 4 * 2 * amx::kTile * amx::kDepth, kTileRounds = kRounds / 8;
  if (dtype == DType::bf16 && amx::available()) return {tiles, kTileOperations, kTileRounds};
  if (dtype == DType::bf16 && __builtin_cpu_supports("avx512bf16")) return {chains512<true>, of_chains(32)};
#endif
  Work work = work_in_f32();
  if (dtype == DType::f64) work.operations /= 2;  // a vector has half as many
  return work;
}

}  // namespace

double measure_multiply_rate(Pool& pool, DType dtype) {
  const Work work = work_in(dtype);
  const int threads = pool.threads();
  std::vector<float> sinks(static_cast<size_t>(threads));
  double best = 0;
  for (int trial = 0; trial < kMultiplyTrials; ++trial) {
    const double ms = milliseconds_of([&] {
      pool.parallel(threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) sinks[static_cast<size_t>(i)] = work.run(work.rounds);
      });
    });
    const double operations = static_cast<double>(work.operations * work.rounds * threads);
    best = std::max(best, 1e3 * operations / ms);
  }
  return best;
}

}  // namespace kb
