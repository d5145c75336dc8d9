// Update rules that scale the step of each layer by norms of the layer, and the warmup by RMSprop. Each comment is the
// rule: w is the parameter, g the gradient of the loss, eta the learning rate, lambda the weight decay, d 1 or 0 by
// role. A layer is one parameter tensor; lambda is 0 for a layer without decay. The trust ratio r of a layer is 1 if
// |w| or |g| is 0, unless a rule says otherwise: the papers are silent, and all implementations do so. Layers that are
// not adapted, by role, have r = skip_lr / (greatest eta), which gives them a rate of their own, or r = 1 if skip_lr is
// 0: rates of these rules are about a thousand times those of SGD.
#pragma once
#include "graph/update_rule.h"

namespace kb {

// v <- m v + eta r (g + lambda w), r = trust |w| / (|g| + lambda |w|); w <- w - v. You et al. 2017, algorithm 1: rate
// and trust ratio are inside the velocity, and there is no momentum correction.
Tensor lars_update(UpdateContext& c);

// The LARS of the MLPerf reference (ResNet, TensorFlow 2): lars with epsilon added to the denominator of r. With
// nesterov, w <- w - (m v + eta r (g + lambda w)).
Tensor lars_mlperf_update(UpdateContext& c);

// u <- m u + r (g + lambda w); w <- w - eta u. The rate is outside the velocity ("unscaled", Kumar et al. 2019).
Tensor lars_unscaled_update(UpdateContext& c);

// lars with a trust coefficient of 1, and r = 1 if |w| <= 0.01. Some replications on small data sets have this form;
// their rates are a thousandth of those of lars.
Tensor lars_plain_update(UpdateContext& c);

// u <- m u + r (g + lambda w), r = min(trust |w| / (|g| + lambda |w| + epsilon) / eta, 1); w <- w - eta u. This is
// NVIDIA's LARC with clipping, around SGD with momentum, but that NVIDIA's has no weight decay where |g| is 0.
Tensor larc_update(UpdateContext& c);

// m^ and v^ are those of Adam, or m and v if bias_correction is 0; u = m^ / (sqrt(v^) + epsilon) + lambda d w; w <- w -
// eta phi(|w|) / |u| u, phi(x) = min(x, phi_max), or x if phi_max is 0. You et al. 2019 (LAMB), arXiv 1904.00962. With
// epsilon 0 an element that had no gradient yet is 0 / 0; it counts as 0.
Tensor lamb_update(UpdateContext& c);

// s <- b2 s + (1 - b2) g^2; D <- m D - (a + rms / (sqrt(s) + epsilon)) g; w <- w + eta D, with a the share of plain SGD
// and rms = (1 - a) rms_lr / eta. Akiba et al. 2017 (RMSprop warm-up).
Tensor rmsprop_warmup_update(UpdateContext& c);

}  // namespace kb
