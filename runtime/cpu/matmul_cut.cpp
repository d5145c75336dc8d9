// How a matmul is cut into shards. It depends on the spec alone, so that the bits never depend on the machine.
#include <algorithm>

#include "graph/rounding.h"
#include "runtime/cpu/library_parts.h"

namespace kb {

namespace {

// Multiply-adds below which another shard costs more than it saves, about 4 us of one AVX-512 core.
constexpr int64_t kLeastWork = 500'000;
// Rows and columns are cut at multiples of this, so that two shards never write to one cache line of f32.
constexpr int64_t kGrain = 16;

}  // namespace

MatmulCut cut_matmul(const MatmulSpec& spec, int shards, int64_t few_rows) {
  const int64_t work = spec.batch * spec.m * spec.n * spec.k;
  const int64_t parts = std::clamp<int64_t>(work / kLeastWork, 1, shards);
  MatmulCut cut;
  int64_t extent = spec.m, grain = kGrain;
  if (spec.batch >= parts && spec.batch > 1) {
    cut.axis = MatmulCut::Axis::batch;
    extent = spec.batch;
    grain = 1;
  } else if (spec.n > spec.m && spec.m < few_rows * parts) {
    cut.axis = MatmulCut::Axis::n;
    extent = spec.n;
  }
  const int64_t grains = ceil_div(extent, grain);
  for (int64_t part = 0; part <= parts; ++part) {
    const int64_t bound = std::min(extent, grains * part / parts * grain);
    if (cut.bounds.empty() || bound > cut.bounds.back()) cut.bounds.push_back(bound);
  }
  return cut;
}

MatmulShard matmul_shard(const MatmulSpec& spec, const MatmulCut& cut, size_t shard) {
  const int64_t first = cut.bounds[shard], count = cut.bounds[shard + 1] - first;
  MatmulShard part{.spec = spec};
  if (cut.axis == MatmulCut::Axis::batch) {
    part.spec.batch = count;
    part.a = first * spec.m * spec.k;
    part.b = first * spec.k * spec.n;
    part.c = first * spec.m * spec.n;
  } else if (cut.axis == MatmulCut::Axis::m) {
    part.spec.m = count;
    part.a = spec.transpose_a ? first : first * spec.k;
    part.c = first * spec.n;
  } else {
    part.spec.n = count;
    part.b = spec.transpose_b ? first * spec.k : first;
    part.c = first;
    part.bias = first;
  }
  return part;
}

}  // namespace kb
