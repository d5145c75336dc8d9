// Augmentation of training images by ops of the graph. The ops apply the random records that the loader draws
// (data/augment.h) to the bytes of the images, before the images are normalised.
#pragma once
#include <vector>

#include "graph/functions.h"

namespace kb {

// Paints a rectangle of each u8 image [N, C, H, W] with the values of `fill`, one per channel. `box` is i32 [N, 4], and
// its rows are AugmentRecord::box: the first row and column of the rectangle, then one past the last row and column.
Tensor cut_out(Tensor images, Tensor box, const std::vector<uint8_t>& fill);

// Returns weight[i] * images[i] + (1 - weight[i]) * images[partner[i]] for every row i, the mixup of Zhang et al. 2018
// (arXiv 1710.09412). `images` are u8, `partner` i32 [N], `weight` float [N]; the result is float, in 0 to 255.
Tensor mix_images(Tensor images, Tensor partner, Tensor weight);

}  // namespace kb
