// AlexNet with one tower (Krizhevsky 2014, One weird trick for parallelizing convolutional neural networks), as
// torchvision has it: no local response norm, parameters under torchvision's names.
#pragma once
#include "graph/layers.h"

namespace kb {

struct AlexNetOptions {
  bool batch_norm = false;  // whether batch norm follows every convolution, in place of its bias
  int64_t hidden = 4096;    // units of each of the two hidden linear layers
  double dropout = 0.5;     // share of their inputs dropped in training
};
// Returns logits [N, classes] of images (N, C, H, W). From 63x63 on conv1 is 11x11/4 as in the paper, and the linear
// layers read the last pooling as it is (6x6 for 224x224). For smaller images, from 31x31 on, conv1 is 5x5/2: a variant
// of our own, whose linear layers read 1x1 for 32x32. Parameters have the names of torchvision's Sequential, features.0
// to classifier.6; with batch norm each norm counts as a layer, as in torchvision's VGG with batch norm.
Tensor alexnet_logits(Tensor images, int64_t classes, const AlexNetOptions& options = {});

}  // namespace kb
