// Convolutions that the kernels of this room compute, and these kernels by plain loops in place of the processor's
// tiles, for tests on any processor.
#pragma once
#include <memory>

#include "runtime/cpu/amx/tiles.h"
#include "runtime/cpu/library_parts.h"

namespace kb::amx {

// Returns whether tiles hold the operands of a convolution or of its gradients.
inline bool fits_tiles(const ConvSpec& s) {
  return s.dtype == DType::bf16 && s.groups == 1 && s.block_in == s.c && s.block_out == s.o && s.c % kSide == 0 &&
         s.o % kSide == 0 && s.dilation[0] == 1 && s.dilation[1] == 1;
}

// Both return null for what the kernels do not compute. Weights of a convolution come in weight_layout(spec); a stride
// goes with gradients alone.
std::unique_ptr<LibraryOp> plan_conv_by_loops(const ConvSpec& spec, int shards);
std::unique_ptr<LibraryOp> plan_weight_grad_by_loops(const ConvSpec& spec, int shards);

}  // namespace kb::amx
