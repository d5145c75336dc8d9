// ResNet-50 for ./run inspect and ./run bench: the network of imagenet_1h at the minibatch of one worker, on noise. It
// is trained with ./run imagenet_1h --data DIR.
#include "recipes/papers/imagenet.h"
#include "recipes/papers/resnet.h"
#include "recipes/papers/table.h"

namespace kb {
namespace {

ModelOutput resnet50_model(Batch& batch) { return imagenet_classification(batch, resnet(batch.images, batch.classes)); }

}  // namespace

Recipe resnet50() {
  const Recipe trained = imagenet_1h();
  Defaults defaults = trained.defaults;
  defaults.dataset = "synthetic";
  defaults.minibatch = 32;
  return {.name = "resnet50",
          .summary = "ResNet-50 at 224x224 on synthetic images, for inspect and bench",
          .paper = trained.paper,
          .model = resnet50_model,
          .defaults = defaults,
          .synthetic = kImageNetNoise,
          .benchmark = kResnetBenchmark};
}

}  // namespace kb
