#include "recipes/config/augmentation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace kb {
namespace {

bool asks_for(const RunConfig& config, AugmentKind kind) {
  return std::find(config.data.augment.begin(), config.data.augment.end(), kind) != config.data.augment.end();
}

}  // namespace

AugmentSpec augment_spec(const RunConfig& config) {
  AugmentSpec spec{
      .crop = asks_for(config, AugmentKind::crop), .flip = asks_for(config, AugmentKind::flip), .pad = config.data.pad};
  spec.resized_crop = asks_for(config, AugmentKind::resized_crop);
  spec.jitter = asks_for(config, AugmentKind::jitter);
  spec.lighting = asks_for(config, AugmentKind::lighting);
  if (asks_for(config, AugmentKind::cutout)) spec.cutout = config.data.cutout_size;
  if (asks_for(config, AugmentKind::mixup)) spec.mixup = config.data.mixup_alpha;
  return spec;
}

AugmentSpec graph_augment(const RunConfig& config) {
  AugmentSpec all = augment_spec(config);
  all.resized_crop = all.jitter = all.lighting = false;
  return config.data.augment_in == AugmentPlace::loader ? AugmentSpec{.mixup = all.mixup} : all;
}

Augmentation loader_augment(const RunConfig& config, const InputSpec& input) {
  return {augment_spec(config), static_cast<uint64_t>(config.arithmetic.seed), mean_pixel(input.mean),
          config.data.augment_in == AugmentPlace::loader};
}

void check_augment(const RunConfig& config, const InputSpec& input) {
  const int64_t side = std::min(input.shape.height, input.shape.width), pad = config.data.pad;
  if (asks_for(config, AugmentKind::crop) && pad > side)
    throw UsageError(
        fmt::format("--pad: expected at most the {} pixels of the images' shorter side, beyond which a window shows "
                    "nothing of them, got {}",
                    side, pad));
  if (input.in_files || !augment_spec(config).needs_files()) return;
  throw UsageError(
      fmt::format("--augment resized-crop, jitter, lighting: they are made where images of any size are read\n"
                  "  expected: --dataset imagenet\n  got:      --dataset {}\n  hint:     crop, flip, cutout and mixup "
                  "are for any images",
                  input.dataset));
}

std::string describe_augment(const RunConfig& config) {
  const AugmentSpec spec = augment_spec(config);
  std::vector<std::string> kinds;
  if (spec.crop) kinds.push_back(fmt::format("crop (pad {})", spec.pad));
  if (spec.flip) kinds.emplace_back("flip");
  if (spec.cutout > 0) kinds.push_back(fmt::format("cutout ({0}x{0})", spec.cutout));
  if (spec.mixup > 0) kinds.push_back(fmt::format("mixup (alpha {})", spec.mixup));
  std::vector<std::string> loaders;
  if (spec.resized_crop) loaders.emplace_back("resized-crop");
  if (spec.jitter) loaders.emplace_back("jitter");
  if (spec.lighting) loaders.emplace_back("lighting");
  const std::string in_loader = loaders.empty() ? "" : fmt::format("{}; in the loader", fmt::join(loaders, ", "));
  if (kinds.empty()) return in_loader.empty() ? "none" : in_loader;
  if (!in_loader.empty()) kinds[0] = in_loader + "; " + kinds[0];
  return fmt::format("{}; in the {}", fmt::join(kinds, ", "), word_of(kAugmentPlaces, config.data.augment_in));
}

}  // namespace kb
