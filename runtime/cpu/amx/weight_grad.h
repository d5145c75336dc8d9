// The gradient of a convolution's weights in bf16 and NHWC by matrix tiles (AMX). oneDNN 2.6 reaches 185 GFLOP/s with
// it in 1x1 convolutions of ResNet-50 on two cores that multiply 300 GFLOP/s in f32. library.h asks here.
#pragma once
#include <memory>

#include "runtime/cpu/library_parts.h"

namespace kb::amx {

// Returns null unless `spec` has bf16, NHWC, channels in multiples of 16, no dilation and one group. A value of an
// input that is not finite may reach the gradients of its channel at every tap.
std::unique_ptr<LibraryOp> plan_weight_grad(const ConvSpec& spec, int shards);
// Does as plan_weight_grad, by plain loops in place of the processor's tiles.
std::unique_ptr<LibraryOp> plan_weight_grad_by_loops(const ConvSpec& spec, int shards);

}  // namespace kb::amx
