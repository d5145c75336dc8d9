// The update rule of a program that computes a gradient for another one to apply: it keeps the gradient in a slot and
// leaves the parameters as they are.
#pragma once
#include "graph/update_rule.h"

namespace kb {

inline constexpr const char* kKeptGradient = "gradient";

inline UpdateRule kept_gradient_rule() {
  return [](UpdateContext& context) {
    context.set_slot(kKeptGradient, context.gradient);
    return context.parameter;
  };
}

}  // namespace kb
