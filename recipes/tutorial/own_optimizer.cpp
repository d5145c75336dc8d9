// Two optimizers of your own: Lion (Chen et al. 2023, Symbolic discovery of optimization algorithms, algorithm 2), and
// one that uses norms of layers. An update rule is a function of tensors; the row of a rule gives each of its numbers a
// flag. The built-in rules (optim/update_rules.cpp) are written the same way. `own_optimizer --optimizer normalised`
// trains the same net with the second optimizer, `--optimizer adamw` with a built-in one.
#include "recipes/commands/program.h"

using namespace kb;

namespace {

// Returns the new parameters of Lion: c = b1 m + (1 - b1) g;  w <- w - eta (sign(c) + lambda d w);
// m <- b2 m + (1 - b2) g.
Tensor lion(UpdateContext& c) {
  Tensor m = c.slot("momentum"), beta1 = c.scalar("beta1"), beta2 = c.scalar("beta2");
  Tensor direction = sign(beta1 * m + (1.0 - beta1) * c.gradient);
  c.set_slot("momentum", beta2 * m + (1.0 - beta2) * c.gradient);
  Tensor decay = c.scalar("weight_decay") * c.decoupled_decay();
  return c.parameter - c.scalar("learning_rate") * (direction + decay * c.parameter);
}

constexpr Optimizer kLion = {"lion",
                             "the sign of a mean gradient (Chen et al. 2023)",
                             lion,
                             1e-4,
                             {{"beta1", 0.9, "share of the momentum in the direction"},
                              {"beta2", 0.99, "share of the momentum kept each step"},
                              {"weight_decay", 0.1, "pull towards 0, on weights; not on biases and norms", kNoLimit}}};

// Returns the new parameters of a momentum rule whose gradients are scaled layer by layer: u <- m u + r g with
// r = |w| / |g|;  w <- w - eta u. r is 1 if |w| or |g| is 0, and for biases and the parameters of norms.
Tensor normalised(UpdateContext& c) {
  Tensor w = c.norm(c.parameter), g = c.norm(c.gradient);  // one number per layer
  Tensor ratio = c.spread(select(bit_and(w > 0.0, g > 0.0), w / g, 1.0));
  Tensor step = select(c.adapt() > 0.0, ratio, 1.0) * c.gradient;
  Tensor velocity = c.scalar("momentum") * c.slot("velocity") + step;
  c.set_slot("velocity", velocity);
  return c.parameter - c.scalar("learning_rate") * velocity;
}

constexpr Optimizer kNormalised = {"normalised",
                                   "each layer moves by a share of its norm, whatever the size of its gradient",
                                   normalised,
                                   1e-2,
                                   {{"momentum", 0.9, "share of the velocity kept each step"}}};

ModelOutput small_net(Batch& batch) {
  Tensor x = relu(batch_norm("bn", conv2d("conv", batch.images, 16, {.kernel = 3, .padding = 1})));
  x = max_pool2d(x, {.kernel = 4});
  return classification(batch, linear("fc", flatten(x), batch.classes));
}

}  // namespace

int main(int argc, char** argv) {
  return run_recipe({.name = "own_optimizer",
                     .summary = "a small net on drawn glyphs, trained by the optimizers of this file",
                     .paper = "Chen et al. 2023, Symbolic discovery of optimization algorithms",
                     .model = small_net,
                     .defaults = {.dataset = "glyphs", .epochs = 1, .optimizer = "lion", .lr = 1e-3},
                     .optimizers = {kLion, kNormalised}},
                    argc, argv);
}
