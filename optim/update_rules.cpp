#include "optim/update_rules.h"

#include "graph/functions.h"

namespace kb {
namespace {

// Returns w after eq. 10 of Goyal et al. 2017, with `correction` as a factor of the old velocity.
Tensor scaled_momentum(UpdateContext& c, Operand correction) {
  Tensor kept = (c.scalar("momentum") * correction) * c.slot("scaled_velocity");
  Tensor velocity = kept + c.scalar("learning_rate") * decayed_gradient(c);
  c.set_slot("scaled_velocity", velocity);
  return c.parameter - velocity;
}

// Keeps a moving mean in a slot and returns it: beta times the old mean plus 1 - beta times `value`.
Tensor moving_mean(UpdateContext& c, const char* slot, const char* beta, const char* one_minus_beta, Tensor value) {
  Tensor mean = c.scalar(beta) * c.slot(slot) + c.scalar(one_minus_beta) * value;
  c.set_slot(slot, mean);
  return mean;
}

// Returns Adam's step eta m^ / (sqrt(v^) + epsilon) for a mean m of gradients.
Tensor adam_step(UpdateContext& c, Tensor mean, Tensor gradient) {
  Tensor size = c.scalar("learning_rate") / c.scalar("bias1");
  return size * mean / root_mean_square(c, gradient);
}

constexpr const char* kAhead = "ahead";  // the slot that holds y - x

// Returns y, the point where the gradient is taken.
Tensor point_of_gradient(UpdateContext& c) { return c.parameter + c.gradient_offset(kAhead); }

// Moves z by a step against `direction`, and the mean x of its points; returns x.
Tensor schedule_free_step(UpdateContext& c, Tensor direction) {
  Tensor base = c.gradient_offset(kAhead) / c.scalar("one_minus_beta");
  Tensor to_base = base - c.scalar("learning_rate") * direction;  // the vector from x to the new z
  Tensor share = c.scalar("mean_share");
  c.set_slot(kAhead, ((1.0 - share) * c.scalar("one_minus_beta")) * to_base);
  return c.parameter + share * to_base;
}

}  // namespace

Tensor velocity_of(UpdateContext& c, const char* slot, Tensor move) {
  Tensor velocity = c.scalar("momentum") * c.slot(slot) + move;
  c.set_slot(slot, velocity);
  return velocity;
}

Tensor mean_of(UpdateContext& c, Tensor gradient) {
  return moving_mean(c, "exp_avg", "beta1", "one_minus_beta1", gradient);
}

Tensor root_mean_square(UpdateContext& c, Tensor gradient) {
  Tensor square = moving_mean(c, "exp_avg_sq", "beta2", "one_minus_beta2", gradient * gradient);
  return sqrt(square / c.scalar("bias2")) + c.scalar("epsilon");
}

Tensor decayed_gradient(UpdateContext& c) { return c.gradient + (c.scalar("weight_decay") * c.decay()) * c.parameter; }

Tensor decayed_parameter(UpdateContext& c) {
  return (1.0 - c.scalar("learning_rate") * c.scalar("weight_decay") * c.decoupled_decay()) * c.parameter;
}

Tensor sgd_update(UpdateContext& c) { return c.parameter - c.scalar("learning_rate") * decayed_gradient(c); }

Tensor momentum_update(UpdateContext& c) {
  return c.parameter - c.scalar("learning_rate") * velocity_of(c, "velocity", decayed_gradient(c));
}

Tensor scaled_momentum_update(UpdateContext& c) {
  Tensor previous = c.scalar("previous_learning_rate");
  return scaled_momentum(c, select(previous > 0.0, c.scalar("learning_rate") / previous, 1.0));
}

Tensor uncorrected_momentum_update(UpdateContext& c) { return scaled_momentum(c, 1.0); }

Tensor nesterov_update(UpdateContext& c) {
  Tensor gradient = decayed_gradient(c);
  Tensor velocity = velocity_of(c, "velocity", gradient);
  Tensor ahead = gradient + c.scalar("momentum") * velocity;
  return c.parameter - c.scalar("learning_rate") * ahead;
}

Tensor adam_update(UpdateContext& c) {
  Tensor gradient = decayed_gradient(c);
  Tensor mean = mean_of(c, gradient);
  return c.parameter - adam_step(c, mean, gradient);
}

Tensor adamw_update(UpdateContext& c) {
  Tensor kept = decayed_parameter(c);
  return kept - adam_step(c, mean_of(c, c.gradient), c.gradient);
}

Tensor nadamw_update(UpdateContext& c) {
  Tensor ahead = c.scalar("beta1") * mean_of(c, c.gradient) + c.scalar("one_minus_beta1") * c.gradient;
  Tensor kept = decayed_parameter(c);
  return kept - adam_step(c, ahead, c.gradient);
}

Tensor lion_update(UpdateContext& c) {
  Tensor ahead = c.scalar("beta1") * c.slot("exp_avg") + c.scalar("one_minus_beta1") * c.gradient;
  moving_mean(c, "exp_avg", "beta2", "one_minus_beta2", c.gradient);
  Tensor sign = select(ahead > 0.0, 1.0, select(ahead < 0.0, -1.0, ahead));  // NaN stays NaN
  return decayed_parameter(c) - c.scalar("learning_rate") * sign;
}

Tensor schedule_free_update(UpdateContext& c) {
  Tensor decay = c.scalar("weight_decay") * c.decay();
  return schedule_free_step(c, c.gradient + decay * point_of_gradient(c));
}

Tensor schedule_free_adamw_update(UpdateContext& c) {
  Tensor decay = c.scalar("weight_decay") * c.decoupled_decay();
  Tensor direction = c.gradient / root_mean_square(c, c.gradient);
  return schedule_free_step(c, direction + decay * point_of_gradient(c));
}

}  // namespace kb
