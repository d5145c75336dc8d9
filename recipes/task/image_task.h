// The task of labelled images: a recipe's model over a data set (recipes/task/inputs.h).
#pragma once
#include <memory>

#include "data/loader.h"
#include "recipes/task/model.h"
#include "recipes/task/task.h"

namespace kb {

// Fields "images" u8 [C, H, W] and "labels" i32 [], and in training the records of the augmentation (data/augment.h) of
// which `in_graph` makes use: "augment.window" i32 [3], "augment.box" i32 [4], "augment.partner" i32 [], "augment.mix"
// f32 []. The model function normalises the images, moves and mixes them in training, and calls the recipe's.
Task image_task(const Recipe& recipe, const InputSpec& input, const OptionValues& options,
                const AugmentSpec& in_graph = {});

// Returns one minibatch of noise, which stands for the training part: bytes for pixels, every class in turn.
std::shared_ptr<const Source> noise_source(const InputSpec& input);

// Sets the sources of the task. `augmentation`: of the training part. With input.noise one minibatch of
// noise stands for the training part.
void set_image_sources(Task& task, const InputSpec& input, std::shared_ptr<const Dataset> data,
                       const Augmentation& augmentation);

}  // namespace kb
