// The task of labelled images: a recipe's model function over a data set (recipes/task/inputs.h).
#pragma once
#include <memory>

#include "data/loader.h"
#include "recipes/task/model.h"
#include "recipes/task/task.h"

namespace kb {

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
