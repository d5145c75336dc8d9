#include "optim/layer_wise_rules.h"

#include "graph/functions.h"
#include "optim/update_rules.h"

namespace kb {
namespace {

// Returns `ratio` for the layers that are adapted, and skip_scale for the others.
Tensor adapted(UpdateContext& c, Tensor ratio) {
  c.report("trust", ratio);
  return select(c.adapt() > 0.0, c.spread(ratio), c.scalar("skip_scale"));
}

// Returns the weight decay of each layer; 0 for one without decay. A layer's elements have one role, so its norm of
// decay() tells.
Tensor weight_decay(UpdateContext& c) { return select(c.norm(c.decay()) > 0.0, c.scalar("weight_decay"), 0.0); }

// Returns coefficient |w| / (|g| + lambda |w| + epsilon) / rate for each layer; 1 if |w| <= least or |g| = 0.
Tensor trust(UpdateContext& c, Operand coefficient, double least = 0, Operand epsilon = 0.0, Operand rate = 1.0) {
  Tensor w = c.norm(c.parameter), g = c.norm(c.gradient);
  Tensor ratio = coefficient * w / (g + weight_decay(c) * w + epsilon) / rate;
  return select(bit_and(w > least, g > 0.0), ratio, 1.0);
}

constexpr const char* kScaledVelocity = "scaled_velocity";  // the slot of a velocity with the learning rate in it

Tensor scaled_move(UpdateContext& c, Tensor ratio) {
  return c.scalar("learning_rate") * adapted(c, ratio) * decayed_gradient(c);
}

// Returns w after u <- m u + r (g + lambda w); w <- w - eta u.
Tensor unscaled(UpdateContext& c, Tensor ratio) {
  return c.parameter - c.scalar("learning_rate") * velocity_of(c, "velocity", adapted(c, ratio) * decayed_gradient(c));
}

}  // namespace

Tensor lars_update(UpdateContext& c) {
  return c.parameter - velocity_of(c, kScaledVelocity, scaled_move(c, trust(c, c.scalar("trust"))));
}

Tensor lars_mlperf_update(UpdateContext& c) {
  Tensor move = scaled_move(c, trust(c, c.scalar("trust"), 0, c.scalar("epsilon")));
  Tensor velocity = velocity_of(c, kScaledVelocity, move);
  return c.parameter - select(c.scalar("nesterov") > 0.0, c.scalar("momentum") * velocity + move, velocity);
}

Tensor lars_unscaled_update(UpdateContext& c) { return unscaled(c, trust(c, c.scalar("trust"))); }

Tensor lars_plain_update(UpdateContext& c) {
  return c.parameter - velocity_of(c, kScaledVelocity, scaled_move(c, trust(c, 1.0, 1e-2)));
}

Tensor larc_update(UpdateContext& c) {
  Tensor ratio = trust(c, c.scalar("trust"), 0, c.scalar("epsilon"), c.scalar("learning_rate"));
  return unscaled(c, minimum(ratio, 1.0));
}

Tensor lamb_update(UpdateContext& c) {
  Tensor mean = mean_of(c, c.gradient), root = root_mean_square(c, c.gradient);
  Tensor adam = select(root > 0.0, mean / c.scalar("bias1") / root, 0.0);  // 0 / 0 would make the layer's norm NaN
  Tensor direction = adam + (c.scalar("weight_decay") * c.decay()) * c.parameter;
  // In this order both norms are computed in the launch of the moments.
  Tensor u = c.norm(direction), w = c.norm(c.parameter);
  Tensor phi = select(c.scalar("phi_max") > 0.0, minimum(w, c.scalar("phi_max")), w);
  Tensor ratio = select(bit_and(w > 0.0, u > 0.0), phi / u, 1.0);
  return c.parameter - c.scalar("learning_rate") * adapted(c, ratio) * direction;
}

Tensor rmsprop_warmup_update(UpdateContext& c) {
  Tensor g = decayed_gradient(c);
  Tensor square = c.scalar("beta2") * c.slot("square") + c.scalar("one_minus_beta2") * (g * g);
  Tensor rate = c.scalar("plain_share") + c.scalar("rms_rate") / (sqrt(square) + c.scalar("epsilon"));
  Tensor velocity = c.scalar("momentum") * c.slot("velocity") - rate * g;
  c.set_slot("square", square);
  c.set_slot("velocity", velocity);
  return c.parameter + c.scalar("learning_rate") * velocity;
}

}  // namespace kb
