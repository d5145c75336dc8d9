// The Builder's products of matrices, and what follows from their extents.
#include <algorithm>

#include "compiler/kernel/builder.h"
#include "graph/error.h"

namespace kb::ir {
namespace {

constexpr int64_t kAlignment = 16;  // bytes

int64_t storage_of(const std::vector<Instr>& body) {
  int64_t bytes = 0;
  for (const Instr& instr : body) {
    if (instr.code == Code::local && instr.storage == Storage::block)
      bytes += (instr.integer * size_of(instr.type) + kAlignment - 1) / kAlignment * kAlignment;
    bytes += storage_of(instr.body);
  }
  return bytes;
}

int32_t narrow(int64_t extent) { return static_cast<int32_t>(extent); }

}  // namespace

int64_t block_storage_bytes(const Kernel& kernel) {
  int64_t bytes = 0;
  for (const Phase& phase : kernel.phases) bytes += storage_of(phase.body);
  return bytes;
}

int64_t launched_storage_bytes(const Kernel& kernel) {
  const int64_t bytes = block_storage_bytes(kernel);
  return bytes > kStaticBlockStorage ? bytes : 0;
}

// A warp's part is as square as it can be: each row and column of it is loaded once for all products that it is in.
// Throws InternalError if there is no such grid.
WarpGrid warp_grid(int64_t rows, int64_t columns, int64_t threads) {
  const int64_t warps = threads / 32;
  WarpGrid best;
  int64_t least = INT64_MAX;
  for (int64_t across = 1; across <= warps; across *= 2) {
    const int64_t down = warps / across, loads = rows / down + columns / across;
    if (rows % (kTileDepth * down) != 0 || columns % (kTileDepth * across) != 0 || loads >= least) continue;
    least = loads;
    best = {down, across};
  }
  ensure(least < INT64_MAX, "accumulators that warps cannot share");
  return best;
}

Local Builder::accumulators(int64_t rows, int64_t columns) {
  warp_grid(rows, columns, kernel_.block_threads);
  effect({.code = Code::local,
          .type = DType::f32,
          .integer = rows * columns,
          .buffer = locals_,
          .storage = Storage::accumulators,
          .tile = {.rows = narrow(rows), .columns = narrow(columns)}});
  return {locals_++, DType::f32, Storage::accumulators};
}

void Builder::tile_copy(const TileCopy& from, const Matrix& to) {
  effect({.code = Code::tile_copy,
          .type = to.local.type,
          .a = from.at,
          .b = from.pitch,
          .c = from.valid_rows,
          .d = to.at,
          .buffer = from.buffer,
          .valid = from.valid_columns,
          .tile = {.local = to.local.id,
                   .rows = narrow(from.rows),
                   .columns = narrow(from.columns),
                   .pitch = narrow(to.pitch)}});
}

void Builder::tile_group() { effect({.code = Code::tile_group}); }

void Builder::tile_wait(int64_t under_way) { effect({.code = Code::tile_wait, .integer = under_way}); }

void Builder::tile_mma(const Local& accumulators, const Matrix& a, const Matrix& b, int64_t depth) {
  effect({.code = Code::tile_mma,
          .type = a.local.type,
          .a = a.at,
          .b = b.at,
          .buffer = accumulators.id,
          .tile = {.local = a.local.id,
                   .other = b.local.id,
                   .depth = narrow(depth),
                   .pitch = narrow(a.pitch),
                   .other_pitch = narrow(b.pitch),
                   .transposed = a.transposed,
                   .other_transposed = b.transposed}});
}

void Builder::tile_store(const Local& accumulators, const Matrix& to) {
  effect({.code = Code::tile_store,
          .type = to.local.type,
          .a = to.at,
          .buffer = accumulators.id,
          .tile = {.local = to.local.id, .pitch = narrow(to.pitch)}});
}

}  // namespace kb::ir
