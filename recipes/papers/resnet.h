// Residual networks of He et al. 2016 under torchvision's names: the blocks, and the network from a list of stages.
#pragma once
#include <string>
#include <vector>

#include "graph/layers.h"

namespace kb {

// A block gives (N, C', H / stride, W / stride). The last gamma of each starts at 0 (Goyal et al. 2017, section 5.1).
using ResidualBlock = Tensor (*)(const std::string& name, Tensor x, int64_t channels, int64_t stride);

// 3x3, 3x3; C' = channels. Parameters conv1, bn1, conv2, bn2, downsample.0, downsample.1.
Tensor basic_block(const std::string& name, Tensor x, int64_t channels, int64_t stride);
// 1x1, 3x3, 1x1; C' = 4 channels; the stride is on the 3x3 (fb.resnet.torch's variant, section 5.1 there).
Tensor bottleneck(const std::string& name, Tensor x, int64_t channels, int64_t stride);

struct ResNetOptions {
  ResidualBlock block = bottleneck;
  std::vector<int64_t> blocks = {3, 4, 6, 3};  // of each stage; stage s has 64 2^s channels
};
// Returns the stages of bottlenecks of a network of 50 or 101 layers (He et al. 2016, table 1).
std::vector<int64_t> resnet_stages(int64_t depth);
// images (N, C, H, W) -> logits [N, classes]: conv1 7x7/2, max pool 3x3/2, layer1 to layer4, fc ~ N(0, 0.01^2).
Tensor resnet(Tensor images, int64_t classes, const ResNetOptions& options = {});

}  // namespace kb
