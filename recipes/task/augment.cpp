#include "recipes/task/augment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kb {
namespace {

bool asks_for(const Flags& flags, const std::string& kind) {
  return ("," + flags.augment + ",").find("," + kind + ",") != std::string::npos;
}

// Whether positions along an axis of images [N, C, H, W] are at or behind number `which` of their record. The number is
// spread before it is compared, so that nothing but the record itself is read from memory.
Tensor reached(Tensor images, int64_t axis, Tensor records, int64_t which) {
  Tensor at = broadcast_axes(iota(images.graph(), DType::i32, images.size(axis)), images.shape(), {axis});
  return at >= broadcast_axes(reshape(slice(records, 1, which, which + 1), {records.size(0)}), images.shape(), {0});
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
  Tensor rows = bit_and(reached(images, 2, box, 0), logical_not(reached(images, 2, box, 2)));
  Tensor columns = bit_and(reached(images, 3, box, 1), logical_not(reached(images, 3, box, 3)));
  return select(bit_and(rows, columns), fill, images);
}

Mixing mix_inputs(Graph& graph, int64_t minibatch, DType real) {
  return {index_input(graph, "augment.partner", {minibatch}, minibatch, "N"),
          input(graph, "augment.mix", real, {minibatch}, "N")};
}

Tensor mix_images(Tensor images, const Mixing& mixing) {
  Tensor own = broadcast_axes(mixing.weight, images.shape(), {0});
  return own * cast(images, own.dtype()) + (1.0 - own) * cast(gather(images, mixing.partner), own.dtype());
}

}  // namespace kb
