// Tensors that hold an infinity or NaN: what trains no further, and is neither saved nor begun with.
#pragma once
#include <span>
#include <string>

#include "runtime/state_store.h"

namespace kb {

// "fc.bias: 3 of 10 values are not finite, the first at index 5: nan"; further such tensors are counted. Empty where
// all values are finite.
std::string not_finite_text(std::span<const TensorView> tensors);

}  // namespace kb
