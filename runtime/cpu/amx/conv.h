// Convolutions and the gradients of their inputs in bf16 and NHWC by matrix tiles (AMX), where oneDNN is slow: 2.6
// takes four times as long where a reduction is over 16 channels, and twice for input gradients with a stride.
// library.h asks here.
#pragma once
#include <memory>

#include "runtime/cpu/library_parts.h"

namespace kb::amx {

// Returns whether plan_conv computes such a convolution: bf16, NHWC, channels in multiples of 16, no dilation and one
// group; forward with a stride of 1. The answer does not depend on the number of samples, bias or ReLU.
bool computes(const ConvSpec& spec);
// Returns whether oneDNN is slow with it.
bool is_faster(const ConvSpec& spec);

// Returns null unless computes(spec), and this processor has tiles. Weights come in weight_layout(spec).
std::unique_ptr<LibraryOp> plan_conv(const ConvSpec& spec, int shards);
// Does as plan_conv, by plain loops in place of the processor's tiles.
std::unique_ptr<LibraryOp> plan_conv_by_loops(const ConvSpec& spec, int shards);
WeightLayout weight_layout(const ConvSpec& spec);

}  // namespace kb::amx
