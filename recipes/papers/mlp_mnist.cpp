// A perceptron whose hidden layers have one width, by default two layers of 256 units: the smallest network that is
// worth a study. Five layers of 512 units with batch norm are the network F1 of Keskar et al. 2017 and of Hoffer et al.
// 2017.
#include "recipes/papers/table.h"

namespace kb {
namespace {

ModelOutput mlp(Batch& batch) {
  Tensor x = flatten(batch.images);
  const int64_t depth = batch.options.whole("depth");
  const bool normed = batch.options.word("norm") == "batch";
  for (int64_t layer = 1; layer <= depth; ++layer) {
    const std::string number = std::to_string(layer);
    // The shift of a norm replaces the bias of the layer before it.
    x = linear("fc" + number, x, batch.options.whole("hidden"), {.bias = !normed});
    x = relu(normed ? batch_norm("bn" + number, x) : x);
    x = dropout("dropout" + number, x, batch.options.real("dropout"));
  }
  return classification(batch, linear("fc" + std::to_string(depth + 1), x, batch.classes));
}

}  // namespace

Recipe mlp_mnist() {
  return {
      .name = "mlp_mnist",
      .summary = "a 784-256-256-10 perceptron on MNIST",
      .paper = "LeCun et al. 1998, Gradient-based learning applied to document recognition",
      .model = mlp,
      .defaults = {.dataset = "mnist", .minibatch = 64, .epochs = 10, .hyper = {{"weight_decay", 5e-4}}, .lr = 0.05},
      .options = {
          {.name = "hidden", .value = 256, .doc = "units of a hidden layer"},
          {.name = "depth", .value = 2, .doc = "hidden layers", .low = 0, .below = 1001},
          fraction_option("dropout", 0, "share of the hidden units left out in training"),
          word_option("norm", {"none", "batch"}, "normalisation behind the hidden layers, in place of their bias")}};
}

}  // namespace kb
