// Update rules as graphs. Each comment is the rule and its source: w is the parameter, g the gradient, eta the learning
// rate, m the momentum, lambda the weight decay, and d 1 or 0 by role (biases and norms have no weight decay). A slot
// starts at zero, so that the first step is no special case.
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

// w <- w - eta g. Goyal et al. 2017, eq. 2.
Tensor sgd_update(UpdateContext& c);

// u <- m u + g; w <- w - eta u. Goyal et al. 2017, eq. 9, which is PyTorch's SGD: the velocity is free of the learning
// rate.
Tensor momentum_update(UpdateContext& c);

// v <- m (eta / eta_previous) v + eta g; w <- w - v. Goyal et al. 2017, eq. 10 with the momentum correction of section
// 3, remark 2: it equals eq. 9 while eta > 0. In the step after eta = 0 the correction is 1.
Tensor scaled_momentum_update(UpdateContext& c);

// v <- m v + eta g; w <- w - v. This lacks the momentum correction, a mistake that Goyal et al. 2017 warn of: a
// velocity keeps its size when eta changes.
Tensor uncorrected_momentum_update(UpdateContext& c);

// u <- m u + g; w <- w - eta (g + m u). Sutskever et al. 2013 in the form of PyTorch's nesterov=True.
Tensor nesterov_update(UpdateContext& c);

// m <- b1 m + (1 - b1) g; v <- b2 v + (1 - b2) g^2; w <- w - eta m^ / (sqrt(v^) + epsilon), m^ = m / (1 - b1^t), v^
// = v / (1 - b2^t). Kingma and Ba 2015, algorithm 1.
Tensor adam_update(UpdateContext& c);

// Adam of the loss's gradient alone, and w <- (1 - eta lambda d) w. Loshchilov and Hutter 2019, algorithm 2; lambda is
// multiplied by eta as in PyTorch (the paper's lambda is eta lambda for the largest eta).
Tensor adamw_update(UpdateContext& c);

// AdamW with (b1 m + (1 - b1) g) in place of m, which is Nesterov's look ahead with b1 in both places and the same bias
// correction. AlgoPerf's baseline (Dahl et al. 2023, arXiv 2306.07179) and timm's NAdamW do this; Dozat's NAdam, which
// PyTorch has, differs.
Tensor nadamw_update(UpdateContext& c);

// w <- w - eta (sign(b1 m + (1 - b1) g) + lambda d w); m <- b2 m + (1 - b2) g. Chen et al. 2023 (arXiv 2302.06675),
// algorithm 2. The sign of 0 is 0.
Tensor lion_update(UpdateContext& c);

// z <- z - eta g; x <- (1 - s) x + s z, s = eta^2 / (the sum of eta^2 over the steps so far); g is the gradient, with
// weight decay, at y = (1 - beta) z + beta x. Defazio et al. 2024 (arXiv 2405.15682), algorithm 1, for SGD. The
// parameters are x, the point that is evaluated. The slot `ahead` holds y - x, from which z = x + ahead / (1 - beta).
Tensor schedule_free_update(UpdateContext& c);

// z <- z - eta (g / (sqrt(v^) + epsilon) + lambda d y), v^ as in adam; x and y are those of schedule_free_update.
// Defazio et al. 2024, algorithm 1; v is corrected in v^ and not in the rate, as in their package from version 1.3 on.
Tensor schedule_free_adamw_update(UpdateContext& c);

}  // namespace kb
