// Update rules that adapt the step of each layer to its norms, and the warmup by RMSprop. w parameter, g the loss's
// gradient, eta learning rate, lambda weight decay, d = 1 or 0 by role; a layer is one parameter tensor, and lambda is
// 0 for one without decay. The trust of a layer is 1 where |w| or |g| is 0, in all but what says otherwise, as every
// implementation has it; the papers do not say. Layers that are not adapted (by role) have skip_lr / the greatest eta
// in place of a trust, 1 where skip_lr is 0: a rate of their own, for the rates of these rules are about a thousand
// times those of SGD.
#pragma once
#include "graph/update_rule.h"

namespace kb {

// v <- m v + eta r (g + lambda w), r = trust |w| / (|g| + lambda |w|); w <- w - v. You et al. 2017, algorithm 1: rate
// and trust inside the velocity, without momentum correction.
Tensor lars_update(UpdateContext& c);

// The MLPerf reference (ResNet, TensorFlow 2): epsilon in the denominator; with nesterov w <- w - (m v + eta r (g +
// lambda w)).
Tensor lars_mlperf_update(UpdateContext& c);

// u <- m u + r (g + lambda w); w <- w - eta u: the rate outside the velocity ("unscaled", Kumar et al. 2019).
Tensor lars_unscaled_update(UpdateContext& c);

// lars with a trust coefficient of 1, and a trust of 1 where |w| <= 0.01: replicas on small data sets, whose rates are
// a thousandth of lars's.
Tensor lars_plain_update(UpdateContext& c);

// u <- m u + r (g + lambda w), r = min(trust |w| / (|g| + lambda |w| + epsilon) / eta, 1); w <- w - eta u: NVIDIA's
// LARC, clipped, around SGD with momentum.
Tensor larc_update(UpdateContext& c);

// m^, v^ as Adam's, or m, v where bias_correction is 0; u = m^ / (sqrt(v^) + epsilon) + lambda d w;
// w <- w - eta phi(|w|) / |u| u, phi(x) = min(x, phi_max), or x where phi_max is 0. You et al. 2019 (LAMB),
// arXiv 1904.00962. 0 / 0, of an element that had no gradient yet where epsilon is 0, counts as 0.
Tensor lamb_update(UpdateContext& c);

// s <- b2 s + (1 - b2) g^2; D <- m D - (a + rms / (sqrt(s) + epsilon)) g; w <- w + eta D, with a the share of plain SGD
// and rms = (1 - a) rms_lr / eta. Akiba et al. 2017 (RMSprop warm-up).
Tensor rmsprop_warmup_update(UpdateContext& c);

}  // namespace kb
