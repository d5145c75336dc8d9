// Update rules as graphs: a function for each row of the table of formulas in optim/README.md, which names the sources.
// A slot starts at zero, so that the first step is no special case.
#pragma once
#include "graph/update_rule.h"

namespace kb {

// g <- g + lambda d w, the gradient of the loss plus lambda/2 |w|^2, as PyTorch's weight_decay. All rules but those of
// adamw's kind begin with it. Reads the scalar weight_decay.
Tensor decayed_gradient(UpdateContext& c);

// Returns (1 - eta lambda d) w, weight decay beside the step. Reads the scalars learning_rate and weight_decay.
Tensor decayed_parameter(UpdateContext& c);

// Returns u <- m u + move, kept in a slot. Reads the scalar momentum.
Tensor velocity_of(UpdateContext& c, const char* slot, Tensor move);

// Returns m <- b1 m + (1 - b1) g, kept in the slot exp_avg, PyTorch's name. Reads the scalars beta1 and
// one_minus_beta1.
Tensor mean_of(UpdateContext& c, Tensor gradient);

// Returns sqrt(v^) + epsilon of v <- b2 v + (1 - b2) g^2, which is kept in the slot exp_avg_sq, and v^ = v / (1 -
// b2^t). Reads the scalars beta2, one_minus_beta2, bias2 and epsilon.
Tensor root_mean_square(UpdateContext& c, Tensor gradient);

Tensor sgd_update(UpdateContext& c);
Tensor momentum_update(UpdateContext& c);
// Equals momentum_update while the learning rate is above 0. In the step after a rate of 0 the correction is 1.
Tensor scaled_momentum_update(UpdateContext& c);
// Lacks the correction: a velocity keeps its size when the learning rate changes.
Tensor uncorrected_momentum_update(UpdateContext& c);
Tensor nesterov_update(UpdateContext& c);
Tensor adam_update(UpdateContext& c);
// Multiplies weight decay by the learning rate, as PyTorch; the paper's lambda is that product at the largest rate.
Tensor adamw_update(UpdateContext& c);
Tensor nadamw_update(UpdateContext& c);
// Takes the sign of 0 as 0.
Tensor lion_update(UpdateContext& c);
// The parameters are x, the point that is evaluated. The slot `ahead` holds y - x, from which z = x + ahead / (1 -
// beta).
Tensor schedule_free_update(UpdateContext& c);
// Corrects v in v^ and not in the rate, as the authors' package does from version 1.3 on.
Tensor schedule_free_adamw_update(UpdateContext& c);

}  // namespace kb
