#include "recipes/augment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kb {
namespace {

bool asks_for(const Flags& flags, const std::string& kind) {
  return ("," + flags.augment + ",").find("," + kind + ",") != std::string::npos;
}

// One number a sample, ready to meet [N, C, H, W].
Tensor column(Tensor records, int64_t which) {
  return reshape(slice(records, 1, which, which + 1), {records.size(0), 1, 1, 1});
}

// Positions along an axis of [N, C, H, W], against [begin, end).
Tensor within(Tensor images, int64_t axis, Tensor begin, Tensor end) {
  Dims shape = {1, 1, 1, 1};
  shape[static_cast<size_t>(axis)] = images.size(axis);
  Tensor at = reshape(iota(images.graph(), DType::i32, images.size(axis)), shape);
  return bit_and(at >= begin, at < end);
}

}  // namespace

std::vector<std::string> augment_kinds() { return {"crop", "flip", "cutout", "mixup"}; }

AugmentSpec augment_spec(const Flags& flags) {
  AugmentSpec spec{.crop = asks_for(flags, "crop"), .flip = asks_for(flags, "flip"), .pad = flags.pad};
  if (asks_for(flags, "cutout")) spec.cutout = flags.cutout_size;
  if (asks_for(flags, "mixup")) spec.mixup = flags.mixup_alpha;
  return spec;
}

AugmentSpec graph_augment(const Flags& flags) {
  const AugmentSpec all = augment_spec(flags);
  return flags.augment_in == "loader" ? AugmentSpec{.mixup = all.mixup} : all;
}

Augmentation loader_augment(const Flags& flags, const InputSpec& input) {
  return {augment_spec(flags), static_cast<uint64_t>(flags.seed), mean_pixel(input.mean), flags.augment_in == "loader"};
}

std::string describe_augment(const Flags& flags) {
  const AugmentSpec spec = augment_spec(flags);
  std::vector<std::string> kinds;
  if (spec.crop) kinds.push_back(fmt::format("crop (pad {})", spec.pad));
  if (spec.flip) kinds.emplace_back("flip");
  if (spec.cutout > 0) kinds.push_back(fmt::format("cutout ({0}x{0})", spec.cutout));
  if (spec.mixup > 0) kinds.push_back(fmt::format("mixup (alpha {})", spec.mixup));
  if (kinds.empty()) return "none";
  return fmt::format("{}; in the {}", fmt::join(kinds, ", "), flags.augment_in);
}

Tensor augment_images(Tensor images, const AugmentSpec& spec, const InputSpec& input) {
  Graph& graph = images.graph();
  const int64_t samples = images.size(0);
  if (spec.moves()) {
    Tensor window = kb::input(graph, "augment.window", DType::i32, {samples, 3}, "N_");
    images = crop(images, window, {images.size(2), images.size(3)});
  }
  if (spec.cutout == 0) return images;
  Tensor box = kb::input(graph, "augment.box", DType::i32, {samples, 4}, "N_");
  const std::vector<uint8_t> mean = mean_pixel(input.mean);
  Tensor fill = constant(graph, DType::u8, {input.shape.channels, 1, 1}, std::vector<double>(mean.begin(), mean.end()));
  Tensor covered =
      bit_and(within(images, 2, column(box, 0), column(box, 2)), within(images, 3, column(box, 1), column(box, 3)));
  return select(covered, fill, images);
}

Mixing mix_inputs(Graph& graph, int64_t minibatch) {
  return {input(graph, "augment.partner", DType::i32, {minibatch}, "N"),
          input(graph, "augment.mix", DType::f32, {minibatch}, "N")};
}

Tensor mix_images(Tensor images, const Mixing& mixing) {
  Tensor own = reshape(mixing.weight, {images.size(0), 1, 1, 1});
  return own * cast(images, DType::f32) + (1.0 - own) * cast(gather(images, mixing.partner), DType::f32);
}

}  // namespace kb
