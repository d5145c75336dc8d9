// The plans of this room for given kernels, which tests choose; runtime/cpu/library_parts.h takes those of an
// instruction set.
#pragma once
#include <memory>

#include "runtime/cpu/library_parts.h"
#include "runtime/cpu/winograd/kernels.h"

namespace kb::winograd {

// Returns whether the three plans below compute `spec`.
bool computes(const Kernels& kernels, const ConvSpec& spec);
std::unique_ptr<LibraryOp> plan_conv(const Kernels& kernels, const ConvSpec& spec, int shards);
std::unique_ptr<LibraryOp> plan_weight_grad(const Kernels& kernels, const ConvSpec& spec, int shards);

}  // namespace kb::winograd
