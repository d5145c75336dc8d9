// Augmentation of training images by ops of the graph: they apply the records that the loader draws (data/augment.h) to
// the bytes of the images, before they are normalised.
#pragma once
#include <vector>

#include "graph/functions.h"

namespace kb {

// Paints the pixels within "box" i32 [N, 4] of u8 images with one value a channel.
Tensor cut_out(Tensor images, Tensor box, const std::vector<uint8_t>& fill);

// Mixes u8 images with those of the rows `partner` i32 [N]: each counts `weight` [N] of float, its partner's the rest.
// Returns float images with pixels from 0 to 255.
Tensor mix_images(Tensor images, Tensor partner, Tensor weight);

}  // namespace kb
