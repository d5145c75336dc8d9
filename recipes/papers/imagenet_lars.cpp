// You et al. 2017: AlexNet, AlexNet-BN and ResNet-50 trained with LARS, with the settings of the paper's tables by
// minibatch; and ResNet-50 with the settings of MLPerf's rounds.
#include <fmt/format.h>

#include "recipes/config/values.h"
#include "recipes/papers/alexnet_net.h"
#include "recipes/papers/batch_rows.h"
#include "recipes/papers/imagenet.h"
#include "recipes/papers/mlperf_settings.h"
#include "recipes/papers/resnet.h"
#include "recipes/papers/table.h"

namespace kb {
namespace {

constexpr int64_t kLarsMinibatch = 8192;
constexpr int64_t kUsualShare = 32;        // samples per worker, as in Goyal et al. 2017
constexpr double kAlexNetBaseline = 0.02;  // the paper's rate of AlexNet without LARS, at kn 512

struct LarsRow {
  int64_t minibatch;
  double rate, warmup_epochs;  // the rate is the paper's gamma_0
  double accuracy;             // top-1 accuracy in the paper, per cent
};
constexpr LarsRow kAlexNetRows[] = {
    {512, 2, 2, 58.7}, {4096, 10, 2, 58.5}, {8192, 10, 2, 58.2}, {16384, 14, 2, 55.0}, {32768, 14, 2, 46.9}};
constexpr LarsRow kAlexNetNormRows[] = {
    {512, 2, 5, 60.2}, {4096, 10, 5, 60.4}, {8192, 14, 5, 60.1}, {16384, 23, 5, 59.3}, {32768, 22, 5, 57.8}};
// The paper has two augmentations; these rows are for the larger one.
constexpr LarsRow kResNetRows[] = {
    {256, 4, 0, 75.8}, {1024, 9, 5, 75.4}, {8192, 30, 5, 75.2}, {16384, 33, 12, 74.4}, {32768, 40, 12, 72.5}};

std::span<const LarsRow> rows_of(const std::string& net) {
  if (net == "alexnet") return kAlexNetRows;
  return net == "alexnet_bn" ? std::span<const LarsRow>(kAlexNetNormRows) : kResNetRows;
}

ModelOutput lars_model(Batch& batch) {
  const std::string& net = batch.options.word("model");
  if (net == "resnet50") return imagenet_classification(batch, resnet(batch.images, batch.classes));
  return imagenet_classification(batch,
                                 alexnet_logits(batch.images, batch.classes, {.batch_norm = net == "alexnet_bn"}));
}

// Returns the settings of algorithm 1: momentum 0.9, weight decay 5e-4, trust coefficient 0.001, and a polynomial
// schedule of power 2 over 100 epochs.
Preset paper_preset(const std::string& net, int64_t minibatch) {
  const LarsRow& row = row_of(rows_of(net), minibatch);
  Preset preset{flags_of({"lars", row.rate, row.warmup_epochs, 100, 0.9, 5e-4})};
  append_flags(preset, {"--trust", "0.001", "--schedule", "polynomial", "--power", "2"});
  const double others = net == "resnet50" ? 0.1 : kAlexNetBaseline;
  append_flags(preset, {"--skip-lr", fmt::format("{}", others)});
  preset.notes = {
      fmt::format("You et al. 2017, {}, {}: {} % top-1 there", net, row_words(row.minibatch, minibatch), row.accuracy),
      fmt::format(
          "not as in the paper, which adapts weights and biases as layers of their own: biases and norms are not "
          "adapted and have no weight decay (--no-adapt, --no-decay); their rate of at most {} (--skip-lr) is ours",
          others)};
  return preset;
}

// Sets the samples per worker, over which batch norm takes its statistics. Neither the paper nor the rounds' logs give
// this number.
void set_samples_a_worker(Preset& preset, int64_t minibatch) {
  if (minibatch % kUsualShare == 0) append_flags(preset, {"--per-worker", fmt::to_string(kUsualShare)});
  preset.notes.push_back(
      minibatch % kUsualShare == 0
          ? fmt::format("not confirmed in a source: the samples a worker; {} stand in (--per-worker)", kUsualShare)
          : fmt::format("not confirmed in a source: the samples a worker; {} do not divide kn {}, so that one worker "
                        "takes all (--per-worker)",
                        kUsualShare, minibatch));
}

Preset lars_preset(const PresetChoice& choice) {
  const std::string &net = choice.options.word("model"), &round = choice.options.word("mlperf");
  const int64_t kn = choice.minibatch.value_or(kLarsMinibatch);
  if (round != "none" && net != "resnet50")
    refuse_value("--mlperf", "none beside --model " + net + ", or --model resnet50", round);
  Preset preset = round == "none" ? paper_preset(net, kn) : mlperf_preset(round, kn);
  if (round != "rcp") set_samples_a_worker(preset, kn);
  append_flags(preset, imagenet_augmentation(choice.dataset));
  return preset;
}

}  // namespace

Recipe imagenet_lars() {
  return {.name = "imagenet_lars",
          .summary = "AlexNet and ResNet-50 on ImageNet by LARS; MLPerf's settings by round",
          .paper = "You et al. 2017, Large batch training of convolutional networks",
          .model = lars_model,
          .defaults = {.dataset = kImageNet, .minibatch = kLarsMinibatch, .epochs = 100, .optimizer = "lars", .lr = 30},
          .synthetic = kImageNetNoise,
          .options = {word_option("model", {"resnet50", "alexnet", "alexnet_bn"}, "network"),
                      word_option("mlperf", {"none", "v0.5", "v0.6", "v0.7", "rcp"},
                                  "settings of ResNet-50 by an MLPerf round, or by its reference convergence points")},
          .preset = lars_preset,
          .benchmark = kResnetBenchmark};
}

}  // namespace kb
