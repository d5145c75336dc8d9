// CudaPrinter's products of matrices, and the block storage that they need much of.
#include "compiler/print/cuda_printer.h"
#include "graph/error.h"

namespace kb::cuda {
namespace {

constexpr int64_t kAlignment = 16;  // bytes

}  // namespace

void CudaPrinter::accumulators(const Instr& instr) {
  const WarpGrid grid = warp_grid(instr.tile.rows, instr.tile.columns, kernel_.block_threads);
  line("Accumulators<{}, {}, {}, {}> l{};", instr.tile.rows, instr.tile.columns, grid.down, grid.across, instr.buffer);
}

// Block storage past kStaticBlockStorage is one array, whose size is given at launch.
void CudaPrinter::block_storage(const Instr& instr) {
  const std::string_view type = memory_type(instr.type);
  if (launched_storage_bytes(kernel_) == 0)
    return line("alignas(16) __shared__ {} l{}[{}];", type, instr.buffer, instr.integer);
  if (storage_used_ == 0) line("extern __shared__ __align__({}) unsigned char storage[];", kAlignment);
  line("{0}* const l{1} = ({0}*)(storage + {2});", type, instr.buffer, storage_used_);
  storage_used_ += (instr.integer * size_of(instr.type) + kAlignment - 1) / kAlignment * kAlignment;
}

void CudaPrinter::tile(const Instr& instr) {
  const Tile& tile = instr.tile;
  switch (instr.code) {
    case Code::tile_copy:
      return line("tile_copy<{}, {}, {}, {}>(l{} + {}, b{} + {}, {}, {}, {});", tile.rows, tile.columns, tile.pitch,
                  kernel_.block_threads, tile.local, kept(instr.d), instr.buffer, kept(instr.a), kept(instr.b),
                  kept(instr.c), kept(instr.valid));
    case Code::tile_group:
      return line("copies_end();");
    case Code::tile_wait:
      line("copies_wait<{}>();", instr.integer);
      return barrier();
    case Code::tile_mma:
      return line("tile_mma<{}, {}, {}, {}, {}>(l{}, l{} + {}, l{} + {});", tile.depth, tile.pitch, tile.transposed,
                  tile.other_pitch, tile.other_transposed, instr.buffer, tile.local, kept(instr.a), tile.other,
                  kept(instr.b));
    case Code::tile_store:
      return line("tile_store<{}>(l{} + {}, l{});", tile.pitch, tile.local, kept(instr.a), instr.buffer);
    default:
      throw InternalError("an instruction that is no product of matrices");
  }
}

}  // namespace kb::cuda
