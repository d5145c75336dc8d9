#include "optim/update_rules.h"

#include "graph/functions.h"

namespace kb {
namespace {

// eq. 9's.
Tensor free_velocity(UpdateContext& c, Tensor gradient) {
  Tensor velocity = c.scalar("momentum") * c.slot("velocity") + gradient;
  c.set_slot("velocity", velocity);
  return velocity;
}

// eq. 10, with `correction` on the velocity from before.
Tensor scaled_momentum(UpdateContext& c, Operand correction) {
  Tensor kept = (c.scalar("momentum") * correction) * c.slot("scaled_velocity");
  Tensor velocity = kept + c.scalar("learning_rate") * decayed_gradient(c);
  c.set_slot("scaled_velocity", velocity);
  return c.parameter - velocity;
}

// eta m^ / (sqrt(v^) + epsilon), and both moments kept, under PyTorch's names.
Tensor adam_step(UpdateContext& c, Tensor gradient) {
  Tensor mean = c.scalar("beta1") * c.slot("exp_avg") + c.scalar("one_minus_beta1") * gradient;
  Tensor square = c.scalar("beta2") * c.slot("exp_avg_sq") + c.scalar("one_minus_beta2") * (gradient * gradient);
  c.set_slot("exp_avg", mean);
  c.set_slot("exp_avg_sq", square);
  Tensor size = c.scalar("learning_rate") / c.scalar("bias1");
  return size * mean / (sqrt(square / c.scalar("bias2")) + c.scalar("epsilon"));
}

}  // namespace

Tensor decayed_gradient(UpdateContext& c) { return c.gradient + (c.scalar("weight_decay") * c.decay()) * c.parameter; }

Tensor sgd_update(UpdateContext& c) { return c.parameter - c.scalar("learning_rate") * decayed_gradient(c); }

Tensor momentum_update(UpdateContext& c) {
  return c.parameter - c.scalar("learning_rate") * free_velocity(c, decayed_gradient(c));
}

Tensor scaled_momentum_update(UpdateContext& c) {
  Tensor previous = c.scalar("previous_learning_rate");
  return scaled_momentum(c, select(previous > 0.0, c.scalar("learning_rate") / previous, 1.0));
}

Tensor uncorrected_momentum_update(UpdateContext& c) { return scaled_momentum(c, 1.0); }

Tensor nesterov_update(UpdateContext& c) {
  Tensor gradient = decayed_gradient(c);
  Tensor velocity = free_velocity(c, gradient);
  Tensor ahead = gradient + c.scalar("momentum") * velocity;
  return c.parameter - c.scalar("learning_rate") * ahead;
}

Tensor adam_update(UpdateContext& c) { return c.parameter - adam_step(c, decayed_gradient(c)); }

Tensor adamw_update(UpdateContext& c) {
  Tensor kept = 1.0 - c.scalar("learning_rate") * c.scalar("weight_decay") * c.decay();
  return kept * c.parameter - adam_step(c, c.gradient);
}

}  // namespace kb
