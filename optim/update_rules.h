// Update rules as graphs, one function each. w parameter, g gradient, eta learning rate, d = 1 or 0 by role (weight
// decay excludes biases and norms). Slots start at zero, so that no first step is special.
#pragma once
#include "graph/update_rule.h"

namespace kb {

// g <- g + lambda d w, the gradient of lambda/2 |w|^2 beside the loss's, in all but adamw; PyTorch's weight_decay.
// Reads the scalar weight_decay.
Tensor decayed_gradient(UpdateContext& c);

// w <- w - eta g. Goyal et al. 2017, eq. 2.
Tensor sgd_update(UpdateContext& c);

// u <- m u + g; w <- w - eta u. Goyal et al. 2017, eq. 9: a velocity free of the learning rate; PyTorch's SGD.
Tensor momentum_update(UpdateContext& c);

// v <- m (eta / eta_previous) v + eta g; w <- w - v. Goyal et al. 2017, eq. 10 with the momentum correction of section
// 3, remark 2: equal to eq. 9 while eta > 0. The step after eta = 0 has the factor 1.
Tensor scaled_momentum_update(UpdateContext& c);

// Does as scaled_momentum_update without the momentum correction, the mistake that Goyal et al. 2017 warn of. A
// velocity from before a change of eta keeps its size.
Tensor uncorrected_momentum_update(UpdateContext& c);

// u <- m u + g; w <- w - eta (g + m u). Sutskever et al. 2013 in the variables of PyTorch's nesterov=True.
Tensor nesterov_update(UpdateContext& c);

// m <- b1 m + (1 - b1) g; v <- b2 v + (1 - b2) g^2; w <- w - eta m^ / (sqrt(v^) + epsilon), m^ = m / (1 - b1^t), v^
// = v / (1 - b2^t). Kingma and Ba 2015, algorithm 1.
Tensor adam_update(UpdateContext& c);

// Adam of the loss's gradient alone, and w <- (1 - eta lambda d) w. Loshchilov and Hutter 2019, algorithm 2, with eta
// in front of lambda as PyTorch has it (the paper's lambda is eta lambda for the largest eta).
Tensor adamw_update(UpdateContext& c);

// AdamW with (b1 m + (1 - b1) g) in place of m: Nesterov's look ahead, b1 in both places and the same correction. The
// baseline of AlgoPerf (Dahl et al. 2023, arXiv 2306.07179), and timm's NAdamW; Dozat's NAdam, which PyTorch has,
// differs.
Tensor nadamw_update(UpdateContext& c);

// w <- w - eta (sign(b1 m + (1 - b1) g) + lambda d w); m <- b2 m + (1 - b2) g. Chen et al. 2023 (arXiv 2302.06675),
// algorithm 2. A sum of 0 has the sign 0.
Tensor lion_update(UpdateContext& c);

// z <- z - eta g; x <- (1 - s) x + s z, s = eta^2 / (the sum of eta^2 over the steps so far); g is the gradient, with
// weight decay, at y = (1 - beta) z + beta x. Defazio et al. 2024 (arXiv 2405.15682), algorithm 1, of SGD. The
// parameters are x, the point that is evaluated; the slot `ahead` is y - x, from which z = x + ahead / (1 - beta).
Tensor schedule_free_update(UpdateContext& c);

// z <- z - eta (g / (sqrt(v^) + epsilon) + lambda d y), v^ as in adam; x and y as in schedule_free_update. Defazio et
// al. 2024, algorithm 1, with the correction of v inside v^ and not in the rate, as in their package from 1.3 on.
Tensor schedule_free_adamw_update(UpdateContext& c);

}  // namespace kb
