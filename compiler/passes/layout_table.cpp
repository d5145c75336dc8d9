#include "compiler/passes/layout_table.h"

namespace kb {
namespace {

struct LayoutRow {
  std::string_view library_isa;
  DType dtype;
  int64_t block;  // 0: NHWC
};

// `./run tune --write` writes one row, on a line of its own, for each instruction set of the library and dtype. What
// has no row takes NHWC. oneDNN and runtime/cpu/amx have AMX kernels for NHWC alone; for blocked layouts oneDNN runs
// kernels without AMX.
// clang-format off
constexpr LayoutRow kLayouts[] = {
    {"amx", DType::f32, 16},
    {"amx", DType::bf16, 0},
    {"avx512_bf16", DType::f32, 16},
    {"avx512_bf16", DType::bf16, 16},
    {"avx512", DType::f32, 16},
    {"avx512", DType::bf16, 16},
    {"avx2", DType::f32, 8},
    {"avx2", DType::bf16, 8},
};
// clang-format on

}  // namespace

int64_t table_block(std::string_view library_isa, DType dtype) {
  for (const LayoutRow& row : kLayouts)
    if (row.library_isa == library_isa && row.dtype == dtype) return row.block;
  return 0;
}

int64_t channels_together(Processor processor, int64_t block, int64_t channels) {
  if (block > 0 && channels % block == 0) return block;
  bool few_channels = channels < 16 && processor == Processor::cpu;
  return few_channels ? 0 : channels;
}

bool weights_last(const Target& target) { return target.processor == Processor::gpu; }

int64_t channel_block(const Target& target, DType dtype, int64_t channels) {
  if (dtype == DType::f64 && target.processor == Processor::cpu) return 0;
  return channels_together(target.processor, table_block(target.library_isa, dtype), channels);
}

}  // namespace kb
