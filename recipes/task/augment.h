// Augmentation of training images by ops of the graph: they apply the records that the loader draws (data/augment.h) to
// the bytes of the images, before they are normalised.
#pragma once
#include "data/augment.h"
#include "graph/functions.h"
#include "recipes/task/inputs.h"

namespace kb {

// Window and box, from the inputs "augment.window" i32 [N, 3] and "augment.box" i32 [N, 4], applied to u8 images.
Tensor augment_images(Tensor images, const AugmentSpec& spec, const InputSpec& input);

// Mixup of u8 images into ones of `real` with pixels 0 to 255, from the inputs "augment.partner" i32 [N] and
// "augment.mix" [N] of `real`.
struct Mixing {
  Tensor partner, weight;
};
Mixing mix_inputs(Graph& graph, int64_t minibatch, DType real = DType::f32);
Tensor mix_images(Tensor images, const Mixing& mixing);

}  // namespace kb
