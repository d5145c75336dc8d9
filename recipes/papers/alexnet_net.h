// AlexNet with one tower (Krizhevsky 2014, One weird trick for parallelizing convolutional neural networks), as
// torchvision has it: no local response norm, parameters under torchvision's names.
#pragma once
#include "graph/layers.h"

namespace kb {

struct AlexNetOptions {
  bool batch_norm = false;  // behind every convolution, in place of its bias
  int64_t hidden = 4096;    // units of both hidden linear layers
  double dropout = 0.5;     // share of their inputs left out in training
};
// images (N, C, H, W) -> logits [N, classes]. From 63x63 on conv1 is 11x11/4 as in the paper, and the linear layers see
// the last pooling as it is (6x6 of 224x224). Smaller images, from 31x31 on, have a conv1 of 5x5/2: a variant of our
// own, whose linear layers see 1x1 of 32x32. Names are those of torchvision's Sequential: features.0 to classifier.6;
// with batch norm those of its VGG with batch norm, where a norm counts as a layer.
Tensor alexnet_logits(Tensor images, int64_t classes, const AlexNetOptions& options = {});

}  // namespace kb
