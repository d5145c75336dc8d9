// Dynamic loss scaling, for f16, whose smallest number is 6e-8 (Micikevicius et al. 2018, section 3.2): gradients are
// computed of the loss times a scale, which the optimizer takes out again. A step whose gradients are not finite
// changes no parameter and no slot, and halves the scale; it doubles after as many good steps in a row as the scalar
// input "loss_scale_interval" says. The scale is state of the graph, and so in every checkpoint.
#pragma once
#include "graph/tensor.h"

namespace kb {

inline constexpr const char* kLossScale = "loss_scale";  // the variable; in a training graph also an output: the next
inline constexpr const char* kLossScaleSteps = "loss_scale.good_steps";  // since the scale last changed
inline constexpr const char* kLossScaleInterval = "loss_scale_interval";

// The loss times the scale, one for all losses, which the first call declares: what the gradients are to be taken of.
Tensor scaled_loss(const Tensor& loss);

bool has_loss_scale(const Graph& graph);

struct Unscaled {
  Tensor gradient;  // of the loss itself
  Tensor finite;    // boolean [], whether every element is
};
Unscaled unscaled(const Tensor& gradient);

// Writes the scale of the next step, and the number of good ones.
void update_loss_scale(const Tensor& finite, const Tensor& interval);

}  // namespace kb
