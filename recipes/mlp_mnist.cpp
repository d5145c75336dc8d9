// Two hidden layers of 256: the smallest network that is worth a study.
#include "recipes/table.h"

namespace kb {
namespace {

ModelOutput mlp(Batch& batch) {
  Tensor x = flatten(batch.images);
  x = relu(linear("fc1", x, 256));
  x = relu(linear("fc2", x, 256));
  return classification(batch, linear("fc3", x, batch.classes));
}

}  // namespace

Recipe mlp_mnist() {
  return {.name = "mlp_mnist",
          .summary = "a 784-256-256-10 perceptron on MNIST",
          .paper = "LeCun et al. 1998, Gradient-based learning applied to document recognition",
          .model = mlp,
          .defaults = {.dataset = "mnist", .minibatch = 64, .epochs = 10, .lr = 0.05}};
}

}  // namespace kb
