// Residual networks of He et al. 2016 with torchvision's names of parameters: their blocks, and the network itself.
#pragma once
#include <string>
#include <vector>

#include "graph/layers.h"

namespace kb {

// A block returns (N, C', H / stride, W / stride). Its last gamma starts at 0 (Goyal et al. 2017, section 5.1).
using ResidualBlock = Tensor (*)(const std::string& name, Tensor x, int64_t channels, int64_t stride);

// Returns the output of two 3x3 convolutions and a shortcut; C' = channels. The parameters are conv1, bn1, conv2, bn2,
// downsample.0 and downsample.1.
Tensor basic_block(const std::string& name, Tensor x, int64_t channels, int64_t stride);
// Returns the output of a 1x1, a 3x3 and a 1x1 convolution and a shortcut; C' = 4 channels. The 3x3 has the stride, as
// in fb.resnet.torch (Goyal et al. 2017, section 5.1).
Tensor bottleneck(const std::string& name, Tensor x, int64_t channels, int64_t stride);

struct ResNetOptions {
  ResidualBlock block = bottleneck;
  std::vector<int64_t> blocks = {3, 4, 6, 3};  // blocks of each stage; stage s = 0, 1, ... has 64 2^s channels
};
// Returns the stages of bottlenecks of a network of 50 or 101 layers (He et al. 2016, table 1).
std::vector<int64_t> resnet_stages(int64_t depth);
// Returns logits [N, classes] of images (N, C, H, W). The layers are conv1 7x7/2, max pool 3x3/2, one layerN per stage,
// and fc, whose weights start from N(0, 0.01^2).
Tensor resnet(Tensor images, int64_t classes, const ResNetOptions& options = {});

}  // namespace kb
