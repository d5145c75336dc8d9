// ResNet-50 as Goyal et al. 2017 train it, at their minibatch of 32 for one worker. Its images are noise: for timing
// and inspection.
#include "recipes/papers/resnet.h"
#include "recipes/papers/table.h"

namespace kb {
namespace {

ModelOutput resnet50_model(Batch& batch) { return classification(batch, resnet(batch.images, batch.classes)); }

}  // namespace

Recipe resnet50() {
  return {.name = "resnet50",
          .summary = "ResNet-50 at 224x224 on synthetic images, for inspect and bench",
          .paper = "Goyal et al. 2017, Accurate, large minibatch SGD: training ImageNet in 1 hour",
          .model = resnet50_model,
          .defaults = {.dataset = "synthetic",
                       .minibatch = 32,
                       .epochs = 90,
                       .optimizer = "nesterov",
                       .hyper = {{"weight_decay", 1e-4}},
                       .lr = 0.1,
                       .base_minibatch = 256,
                       .schedule = "step",
                       .milestones = {30, 60, 80},
                       .warmup_epochs = 5},
          .synthetic = {.shape = {3, 224, 224}, .classes = 1000, .train_count = 256, .test_count = 64}};
}

}  // namespace kb
