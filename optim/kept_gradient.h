// The update rule of a program that computes a gradient for another one to apply: it keeps the gradient in a slot and
// leaves the parameters as they are. With momentum the slot is a velocity v = m v + g in place of the gradient g.
#pragma once
#include "graph/update_rule.h"

namespace kb {

inline constexpr const char* kKeptGradient = "gradient";

inline UpdateRule kept_gradient_rule(bool with_momentum = false) {
  return [with_momentum](UpdateContext& context) {
    context.set_slot(kKeptGradient, with_momentum
                                        ? context.scalar("momentum") * context.slot(kKeptGradient) + context.gradient
                                        : context.gradient);
    return context.parameter;
  };
}

}  // namespace kb
