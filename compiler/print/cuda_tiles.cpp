// CudaPrinter's products of matrices, and the block storage that they need much of.
#include "compiler/print/cuda_printer.h"
#include "graph/error.h"

namespace kb::cuda {

void CudaPrinter::accumulators(const Instr& instr) {
  const WarpGrid grid = warp_grid(instr.tile.rows, instr.tile.columns, kernel_.block_threads, kernel_.warpgroups);
  line("Accumulators<{}, {}, {}, {}> l{};", instr.tile.rows, instr.tile.columns, grid.down, grid.across, instr.buffer);
}

// Block storage past kStaticBlockStorage is one array, whose size is given at launch.
void CudaPrinter::block_storage(const Instr& instr) {
  const std::string_view type = memory_type(instr.type);
  const int32_t l = instr.buffer;
  const StorageRange range = storage_range(storage_used_, instr);
  if (instr.storage == Storage::matrices)
    line("using m{} = Matrix<{}, {}, {}>;", l, instr.tile.rows, instr.tile.columns, instr.tile.panel);
  if (launched_storage_bytes(kernel_) == 0)
    return line("alignas({}) __shared__ {} l{}[{}];", range.alignment, type, l, instr.integer);
  if (storage_used_ == 0)
    line("extern __shared__ __align__({}) unsigned char storage[];", storage_alignment(Storage::matrices));
  line("{0}* const l{1} = ({0}*)(storage + {2});", type, l, range.begin);
  storage_used_ = range.end;
}

// Returns "l0 + r3 * m0::kElements".
std::string CudaPrinter::matrix(int32_t local, Reg number) const {
  return fmt::format("l{0} + {1} * m{0}::kElements", local, kept(number));
}

void CudaPrinter::tile(const Instr& instr) {
  const Tile& tile = instr.tile;
  switch (instr.code) {
    case Code::tile_copy:
      return line("tile_copy<m{}, {}>({}, b{} + {}, {}, {}, {});", tile.local, kernel_.block_threads,
                  matrix(tile.local, instr.d), instr.buffer, kept(instr.a), kept(instr.b), kept(instr.c),
                  kept(instr.valid));
    case Code::tile_group:
      return line("copies_end();");
    case Code::tile_wait:
      line("copies_wait<{}>();", instr.integer);
      if (kernel_.warpgroups) line("show_tensor_cores();");
      return barrier();
    case Code::tile_mma:
      return line("{}<m{}, {}, m{}, {}>(l{}, {}, {});", kernel_.warpgroups ? "warpgroup_mma" : "tile_mma", tile.local,
                  tile.transposed, tile.other, tile.other_transposed, instr.buffer, matrix(tile.local, instr.a),
                  matrix(tile.other, instr.b));
    case Code::tile_store:
      return line("tile_store<{}>(l{}, l{});", tile.pitch, tile.local, instr.buffer);
    default:
      throw InternalError("an instruction that is no product of matrices");
  }
}

}  // namespace kb::cuda
