// AlexNet with the settings of the reference run in You et al. 2017 (their table of AlexNet: minibatch 512, rate 0.02,
// 100 epochs, 58.8 % accuracy). imagenet_lars has larger minibatches. For images of 32x32 the net is our variant.
#include "recipes/papers/alexnet_net.h"
#include "recipes/papers/imagenet.h"
#include "recipes/papers/table.h"

namespace kb {
namespace {

ModelOutput alexnet_model(Batch& batch) {
  const AlexNetOptions options{batch.options.word("norm") == "batch", batch.options.whole("hidden"),
                               batch.options.real("dropout")};
  return imagenet_classification(batch, alexnet_logits(batch.images, batch.classes, options));
}

Preset alexnet_preset(const PresetChoice& choice) { return {imagenet_augmentation(choice.dataset)}; }

}  // namespace

Recipe alexnet() {
  return {.name = "alexnet",
          .summary = "AlexNet with one tower on ImageNet; a small form on CIFAR-10",
          .paper = "Krizhevsky 2014, One weird trick for parallelizing convolutional neural networks",
          .model = alexnet_model,
          .defaults = {.dataset = kImageNet,
                       .minibatch = 512,
                       .epochs = 100,
                       .hyper = {{"weight_decay", 5e-4}},
                       .lr = 0.02,
                       .schedule = "polynomial"},
          .synthetic = kImageNetNoise,
          .options = {word_option("norm", {"none", "batch"},
                                  "normalisation behind the convolutions, in place of their bias (AlexNet-BN)"),
                      {.name = "hidden", .value = 4096, .doc = "units of a hidden linear layer"},
                      fraction_option("dropout", 0.5, "share of the linear layers' inputs left out in training")},
          .preset = alexnet_preset};
}

}  // namespace kb
