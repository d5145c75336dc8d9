#include "compiler/layout_table.h"

namespace kb {
namespace {

struct LayoutRow {
  std::string_view isa;
  DType dtype;
  int64_t block;  // 0: NHWC
};

// Rows are tried in order; an instruction set that is not here takes NHWC.
constexpr LayoutRow kLayouts[] = {
    {"avx512", DType::f32, 16},
    {"avx512", DType::bf16, 16},
    {"avx2", DType::f32, 8},
    {"avx2", DType::bf16, 8},
};

}  // namespace

int64_t channel_block(const Target& target, DType dtype, int64_t channels) {
  if (dtype == DType::f64 && target.processor == Processor::cpu) return 0;
  for (const LayoutRow& row : kLayouts)
    if (row.isa == target.isa && row.dtype == dtype && row.block > 0 && channels % row.block == 0) return row.block;
  bool few_channels = channels < 16 && target.processor == Processor::cpu;
  return few_channels ? 0 : channels;
}

}  // namespace kb
