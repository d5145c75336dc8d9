// The gradient of the weights of a 3x3 convolution, tensors in blocks of 8 channels, where the processor has AVX2:
// oneDNN's kernels for it (2.6 as 3.13) reach half to two thirds of the multiply rate there, these 69 to 92 %.
// Below library.h, which asks here first.
#pragma once
#include <memory>

#include "runtime/cpu/library_parts.h"

namespace kb {

// Null where `spec` is none of these: f32, stride 1 or 2, padding 1, no dilation, one group.
std::unique_ptr<LibraryOp> plan_weight_grad(const ConvSpec& spec, int shards);

}  // namespace kb
