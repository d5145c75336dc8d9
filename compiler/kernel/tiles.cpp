// The Builder's products of matrices, and what follows from their extents.
#include <algorithm>

#include "compiler/kernel/builder.h"
#include "graph/error.h"
#include "graph/rounding.h"

namespace kb::ir {
namespace {

constexpr int64_t kWidestPanel = 64, kNarrowestPanel = 16;  // columns

void add_storage(int64_t& used, const std::vector<Instr>& body) {
  for (const Instr& instr : body) {
    if (instr.code == Code::local && (instr.storage == Storage::block || instr.storage == Storage::matrices))
      used = storage_range(used, instr).end;
    add_storage(used, instr.body);
  }
}

int32_t narrow(int64_t extent) { return static_cast<int32_t>(extent); }

// Warpgroups share the rows, 64 each; where there are more warpgroups, these share the columns.
WarpGrid warpgroup_grid(int64_t rows, int64_t columns, int64_t threads) {
  const int64_t groups = threads / kWarpgroupThreads, down = std::max<int64_t>(rows / kWarpgroupRows, 1);
  const int64_t across = groups / down;
  ensure(threads % kWarpgroupThreads == 0 && rows == down * kWarpgroupRows && groups == down * across &&
             columns % (kTileDepth * across) == 0,
         "accumulators that warpgroups cannot share");
  return {down * kWarpgroupRows / kTileDepth, across};
}

}  // namespace

// A layout of matrices repeats after eight rows of the widest panel.
int64_t storage_alignment(Storage storage) { return storage == Storage::matrices ? 8 * 2 * kWidestPanel : 16; }

StorageRange storage_range(int64_t used, const Instr& local) {
  const int64_t alignment = storage_alignment(local.storage);
  const int64_t begin = round_up(used, alignment);
  return {begin, begin + local.integer * size_of(local.type), alignment};
}

int64_t block_storage_bytes(const Kernel& kernel) {
  int64_t bytes = 0;
  for (const Phase& phase : kernel.phases) add_storage(bytes, phase.body);
  return bytes;
}

int64_t launched_storage_bytes(const Kernel& kernel) {
  const int64_t bytes = block_storage_bytes(kernel);
  return bytes > kStaticBlockStorage ? bytes : 0;
}

// A warp's part is as square as it can be: each row and column of it is loaded once for all products that it is in.
// Throws InternalError if there is no such grid.
WarpGrid warp_grid(int64_t rows, int64_t columns, int64_t threads, bool warpgroups) {
  if (warpgroups) return warpgroup_grid(rows, columns, threads);
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

int64_t panel_of(int64_t columns) {
  int64_t panel = kWidestPanel;
  while (panel > kNarrowestPanel && columns % panel != 0) panel /= 2;
  return panel;
}

Local Builder::accumulators(int64_t rows, int64_t columns) {
  warp_grid(rows, columns, kernel_.block_threads, kernel_.warpgroups);
  effect({.code = Code::local,
          .type = DType::f32,
          .integer = rows * columns,
          .buffer = locals_,
          .storage = Storage::accumulators,
          .tile = {.rows = narrow(rows), .columns = narrow(columns)}});
  return {locals_++, DType::f32, Storage::accumulators};
}

Local Builder::matrices(DType type, int64_t count, int64_t rows, int64_t columns, int64_t part) {
  effect({.code = Code::local,
          .type = type,
          .integer = count * rows * columns,
          .buffer = locals_,
          .storage = Storage::matrices,
          .tile = {.rows = narrow(rows), .columns = narrow(columns), .panel = narrow(panel_of(part))}});
  return {locals_++, type, Storage::matrices};
}

void Builder::tile_copy(const TileCopy& from, const Matrix& to) {
  effect({.code = Code::tile_copy,
          .type = to.local.type,
          .a = from.at,
          .b = from.pitch,
          .c = from.valid_rows,
          .d = to.number,
          .buffer = from.buffer,
          .valid = from.valid_columns,
          .tile = {.local = to.local.id}});
}

void Builder::tile_group() { effect({.code = Code::tile_group}); }

void Builder::tile_wait(int64_t under_way) { effect({.code = Code::tile_wait, .integer = under_way}); }

void Builder::tile_mma(const Local& accumulators, const Matrix& a, const Matrix& b) {
  effect({.code = Code::tile_mma,
          .type = a.local.type,
          .a = a.number,
          .b = b.number,
          .buffer = accumulators.id,
          .tile = {
              .local = a.local.id, .other = b.local.id, .transposed = a.transposed, .other_transposed = b.transposed}});
}

void Builder::tile_store(const Local& accumulators, const Local& to, int64_t pitch) {
  effect({.code = Code::tile_store,
          .type = to.type,
          .buffer = accumulators.id,
          .tile = {.local = to.id, .pitch = narrow(pitch)}});
}

}  // namespace kb::ir
