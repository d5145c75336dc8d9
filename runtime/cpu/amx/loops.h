// The kernels of this room by plain loops in place of the processor's tiles, for tests on any processor.
#pragma once
#include <memory>

#include "runtime/cpu/library_parts.h"

namespace kb::amx {

// Both return null for what the kernels do not compute. Weights of a convolution come in weight_layout(spec); a stride
// goes with gradients alone.
std::unique_ptr<LibraryOp> plan_conv_by_loops(const ConvSpec& spec, int shards);
std::unique_ptr<LibraryOp> plan_weight_grad_by_loops(const ConvSpec& spec, int shards);

}  // namespace kb::amx
