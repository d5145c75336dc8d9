// Augmentation of training images as a recipe's flags ask for it: what the loader draws, and the graph ops that apply
// its records (data/augment.h) to the bytes of the images, before they are normalised.
#pragma once
#include <string>
#include <vector>

#include "data/loader.h"
#include "graph/functions.h"
#include "recipes/config/flags.h"
#include "recipes/task/inputs.h"

namespace kb {

// The words of --augment.
std::vector<std::string> augment_kinds();

AugmentSpec augment_spec(const Flags& flags);
// Returns the augmentation in the training graph: all, or mixup alone where the loader moves the pixels.
AugmentSpec graph_augment(const Flags& flags);
// Returns the loader's augmentation: it draws all records; with --augment-in loader it applies windows and boxes.
Augmentation loader_augment(const Flags& flags, const InputSpec& input);
// "crop (pad 4), flip; in the graph".
std::string describe_augment(const Flags& flags);

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
