#include "recipes/config/augmentation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace kb {
namespace {

bool asks_for(const RunConfig& config, AugmentKind kind) {
  return std::find(config.augment.begin(), config.augment.end(), kind) != config.augment.end();
}

}  // namespace

AugmentSpec augment_spec(const RunConfig& config) {
  AugmentSpec spec{
      .crop = asks_for(config, AugmentKind::crop), .flip = asks_for(config, AugmentKind::flip), .pad = config.pad};
  if (asks_for(config, AugmentKind::cutout)) spec.cutout = config.cutout_size;
  if (asks_for(config, AugmentKind::mixup)) spec.mixup = config.mixup_alpha;
  return spec;
}

AugmentSpec graph_augment(const RunConfig& config) {
  const AugmentSpec all = augment_spec(config);
  return config.augment_in == AugmentPlace::loader ? AugmentSpec{.mixup = all.mixup} : all;
}

Augmentation loader_augment(const RunConfig& config, const InputSpec& input) {
  return {augment_spec(config), static_cast<uint64_t>(config.seed), mean_pixel(input.mean),
          config.augment_in == AugmentPlace::loader};
}

std::string describe_augment(const RunConfig& config) {
  const AugmentSpec spec = augment_spec(config);
  std::vector<std::string> kinds;
  if (spec.crop) kinds.push_back(fmt::format("crop (pad {})", spec.pad));
  if (spec.flip) kinds.emplace_back("flip");
  if (spec.cutout > 0) kinds.push_back(fmt::format("cutout ({0}x{0})", spec.cutout));
  if (spec.mixup > 0) kinds.push_back(fmt::format("mixup (alpha {})", spec.mixup));
  if (kinds.empty()) return "none";
  return fmt::format("{}; in the {}", fmt::join(kinds, ", "), word_of(kAugmentPlaces, config.augment_in));
}

}  // namespace kb
