// Goyal et al. 2017: residual networks on ImageNet at any minibatch kn, where every worker of n = 32 samples has its
// own batch-norm statistics (section 3, remarks; section 5.1). Few devices compute a minibatch kn as virtual workers,
// one after the other, with the same bits.
#include <fmt/format.h>

#include "recipes/config/values.h"
#include "recipes/papers/batch_rows.h"
#include "recipes/papers/imagenet.h"
#include "recipes/papers/resnet.h"
#include "recipes/papers/table.h"

namespace kb {
namespace {

constexpr int64_t kBaseline = 256, kHour = 8192;

// Published top-1 validation error in per cent, as mean and standard deviation of five runs (figure 1 and table 2c).
struct PublishedError {
  int64_t depth, minibatch;
  double mean, deviation;
};
constexpr PublishedError kPublished[] = {
    {50, 128, 23.49, 0.12},   {50, 256, 23.60, 0.12},   {50, 512, 23.48, 0.09},  {50, 1024, 23.53, 0.08},
    {50, 2048, 23.49, 0.11},  {50, 4096, 23.56, 0.12},  {50, 8192, 23.74, 0.09}, {50, 16384, 24.79, 0.27},
    {50, 32768, 27.55, 0.28}, {50, 65536, 33.96, 0.80}, {101, 256, 22.08, 0.06}, {101, 8192, 22.36, 0.09},
};

ModelOutput residual_network(Batch& batch) {
  const ResNetOptions options{bottleneck, resnet_stages(batch.options.whole("depth"))};
  return imagenet_classification(batch, resnet(batch.images, batch.classes, options));
}

// Chooses the paper's settings. Weight decay applies to all but batch norm's scale and shift (section 5.1).
Preset goyal_preset(const PresetChoice& choice) {
  const auto& [options, minibatch, dataset] = choice;
  const bool is_baseline = options.real("baseline") != 0;
  if (is_baseline && minibatch.value_or(kBaseline) != kBaseline)
    refuse_value("--baseline", fmt::format("--minibatch {} beside it, or none", kBaseline),
                 fmt::format("--minibatch {}", *minibatch));
  Preset preset{{"--per-worker", "32", "--no-decay", "norm_scale,norm_shift"}};
  append_flags(preset, imagenet_augmentation(dataset));
  if (is_baseline) append_flags(preset, {"--minibatch", fmt::to_string(kBaseline)});
  const int64_t kn = minibatch.value_or(is_baseline ? kBaseline : kHour);
  for (const PublishedError& row : kPublished)
    if (row.depth == options.whole("depth") && row.minibatch == kn)
      preset.notes.push_back(
          fmt::format("the paper's error at kn {}: {:.2f} % +- {:.2f} (5 runs; each the median of its last "
                      "5 epochs)",
                      kn, row.mean, row.deviation));
  if (dataset == kImageNet)
    preset.notes.emplace_back(
        "not as in the paper, whose augmentation is that of fb.resnet.torch (bicubic, aspect ratios uniform "
        "between 3/4 and 4/3 or inverted): crops are torchvision's, bilinear with antialiasing, of ratios uniform "
        "in the logarithm");
  return preset;
}

}  // namespace

Recipe imagenet_1h() {
  return {.name = "imagenet_1h",
          .summary = "ResNet-50 and 101 on ImageNet, minibatches of 64 to 64k",
          .paper = "Goyal et al. 2017, Accurate, large minibatch SGD: training ImageNet in 1 hour",
          .model = residual_network,
          .defaults = {.dataset = kImageNet,
                       .minibatch = kHour,
                       .epochs = 90,
                       .optimizer = "nesterov",
                       .hyper = {{"weight_decay", 1e-4}},
                       .lr = 0.1,
                       .base_minibatch = 256,
                       .schedule = "step",
                       .milestones = {30, 60, 80},
                       .warmup_epochs = 5},
          .synthetic = kImageNetNoise,
          .options = {{.name = "depth", .value = 50, .doc = "layers", .choices = {50, 101}},
                      switch_option("baseline", "the paper's reference run, kn = 256")},
          .preset = goyal_preset,
          .benchmark = kResnetBenchmark};
}

}  // namespace kb
