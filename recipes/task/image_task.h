// The task of labelled images: a recipe's model function over a data set (recipes/task/inputs.h).
#pragma once
#include <memory>
#include <vector>

#include "data/loader.h"
#include "graph/functions.h"
#include "recipes/task/model.h"
#include "recipes/task/task.h"

namespace kb {

// Paints a rectangle of each u8 image [N, C, H, W] with the values of `fill`, one per channel. `box` is i32 [N, 4], and
// its rows are AugmentRecord::box: the first row and column of the rectangle, then one past the last row and column.
Tensor cut_out(Tensor images, Tensor box, const std::vector<uint8_t>& fill);

// Returns weight[i] * images[i] + (1 - weight[i]) * images[partner[i]] for every row i, the mixup of Zhang et al. 2018
// (arXiv 1710.09412). `images` are u8, `partner` i32 [N], `weight` float [N]; the result is float, in 0 to 255.
Tensor mix_images(Tensor images, Tensor partner, Tensor weight);

// Returns the task without its sources. Its fields are "images" u8 [C, H, W], "labels" i32 [], and the records of the
// augmentation (data/augment.h): "augment.window" i32 [3], "augment.box" i32 [4], "augment.partner" i32 [] and
// "augment.mix" f32 []. Training graphs read the records that the augmentations of `in_graph` need, other graphs none.
// The task's model function moves, paints and mixes the images in training, normalises them, and calls the recipe's
// model function.
Task image_task(const Recipe& recipe, const InputSpec& input, const OptionValues& options,
                const AugmentSpec& in_graph = {});

// Returns a source that gives one minibatch of noise at every step and pretends to have input.train_count samples:
// random bytes as pixels, and the labels 0, 1, ..., classes - 1, 0, ...
std::shared_ptr<const Source> noise_source(const InputSpec& input);

// Sets the sources of the task to the parts of the data set. The training part is augmented, but as Task::plain it is
// not. With input.noise, noise_source() takes the place of the training part.
void set_image_sources(Task& task, const InputSpec& input, std::shared_ptr<const Dataset> data,
                       const Augmentation& augmentation);

}  // namespace kb
