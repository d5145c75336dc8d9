// Dynamic loss scaling for f16, whose smallest positive number is 6e-8 (Micikevicius et al. 2018, section 3.2).
// Gradients are computed of the loss times a scale, and the optimizer divides them by it. A step whose gradients are
// not finite changes no parameter and no slot, and halves the scale. The scale doubles after as many good steps in a
// row as the scalar input "loss_scale_interval" says. It is state of the graph, so checkpoints hold it.
#pragma once
#include "graph/tensor.h"

namespace kb {

inline constexpr const char* kLossScale =
    "loss_scale";  // the variable; in a training graph also the output that gives the next step's scale
inline constexpr const char* kLossScaleSteps =
    "loss_scale.good_steps";  // number of good steps since the scale last changed
inline constexpr const char* kLossScaleInterval = "loss_scale_interval";

// Returns the loss times the scale, of which gradients are then taken. All losses share one scale, which the first call
// declares.
Tensor scaled_loss(const Tensor& loss);

bool has_loss_scale(const Graph& graph);

struct Unscaled {
  Tensor gradient;  // gradient of the unscaled loss
  Tensor finite;    // boolean [], true if every element of the gradient is finite
};
Unscaled unscaled(const Tensor& gradient);

// Writes the scale for the next step and the number of good steps.
void update_loss_scale(const Tensor& finite, const Tensor& interval);

}  // namespace kb
