// Finds tensors that hold an infinity or NaN. A run does not train on with them, save them, or start from them.
#pragma once
#include <span>
#include <string>

#include "runtime/state_store.h"

namespace kb {

// Returns "fc.bias: 3 of 10 values are not finite, the first at index 5: nan" and the number of further tensors like
// it; "" when all values are finite.
std::string not_finite_text(std::span<const TensorView> tensors);

}  // namespace kb
