#include "optim/sgd.h"

namespace kb {

SgdResult sgd_momentum(const SgdInputs& in) {
  Tensor decayed = in.gradient + (in.weight_decay * in.decay) * in.parameter;
  Tensor velocity = in.momentum * in.velocity + decayed;
  return {in.parameter - in.learning_rate * velocity, velocity};
}

}  // namespace kb
