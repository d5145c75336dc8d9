#include "recipes/perf/copy_bandwidth.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "graph/functions.h"
#include "runtime/cpu/memory.h"
#include "runtime/session.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace kb {
namespace {

constexpr int64_t kTile = 256 * 1024;              // bytes of the pieces that are divided among the threads
constexpr int kCopyTrials = 5;                     // timed copies, the fastest of which counts
constexpr int64_t kDeviceCopy = int64_t{1} << 30;  // most bytes of a copied array on a device

}  // namespace

CopyBandwidth::CopyBandwidth(int64_t bytes, int threads)
    : tiles_((bytes + kTile - 1) / kTile),
      pool_(threads),
      from_(allocate_cpu_memory(tiles_ * kTile, pool_)),
      to_(allocate_cpu_memory(tiles_ * kTile, pool_)) {}

void CopyBandwidth::plain() {
  pool_.parallel(tiles_, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin * kTile; i < end * kTile; i += kTile) {
      const std::byte* from = from_->data() + i;
      std::byte* to = to_->data() + i;
      for (int64_t b = 0; b < kTile; b += 4096) __builtin_memcpy(to + b, from + b, 4096);
    }
  });
}

void CopyBandwidth::streaming() {
#if defined(__x86_64__)
  pool_.parallel(tiles_, [&](int64_t begin, int64_t end, int) {
    const auto* from = reinterpret_cast<const __m128i*>(from_->data() + begin * kTile);
    auto* to = reinterpret_cast<__m128i*>(to_->data() + begin * kTile);
    int64_t count = (end - begin) * kTile / 16;
    for (int64_t i = 0; i < count; i += 4)
      for (int64_t j = i; j < i + 4; ++j) _mm_stream_si128(to + j, _mm_load_si128(from + j));
    _mm_sfence();
  });
#else
  plain();
#endif
}

void CopyBandwidth::reading() {
  pool_.parallel(tiles_, [&](int64_t begin, int64_t end, int) {
    const auto* words = reinterpret_cast<const uint64_t*>(to_->data() + begin * kTile);
    const int64_t count = (end - begin) * kTile / 8;
    std::array<uint64_t, 8> bits{};  // a cache line of words
    for (int64_t i = 0; i < count; i += 8)
      for (int64_t j = 0; j < 8; ++j) bits[static_cast<size_t>(j)] |= words[i + j];
    for (const uint64_t word : bits) bits_ |= word;
  });
}

int64_t device_copy_bytes(const Backend& backend) {
  return std::clamp(backend.free_bytes() / 4 / kTile * kTile, kTile, kDeviceCopy);
}

double device_copy_rate(Backend& backend, int64_t bytes) {
  Graph graph("copy", Mode::inference);
  const Tensor from = state(graph, "from", {DType::f32, {bytes / size_of(DType::f32)}, ""}, {});
  state(graph, "to", from.type(), {});
  graph.writes.push_back({"to", from.value()});
  CompileOptions options;
  options.target = backend.target();
  StateStore store(backend);
  Session session(backend, store, compile(std::move(graph), options));
  double fastest = std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < kCopyTrials; ++trial)
    for (const StepTime& time : session.profile().steps) fastest = std::min(fastest, time.milliseconds);
  return 2e3 * static_cast<double>(bytes) / fastest;
}

}  // namespace kb
