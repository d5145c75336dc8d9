#include "recipes/task/augment.h"

namespace kb {
namespace {

// Whether positions along an axis of images [N, C, H, W] are at or behind number `which` of their record. The number is
// spread before it is compared, so that nothing but the record itself is read from memory.
Tensor reached(Tensor images, int64_t axis, Tensor records, int64_t which) {
  Tensor at = broadcast_axes(iota(images.graph(), DType::i32, images.size(axis)), images.shape(), {axis});
  return at >= broadcast_axes(reshape(slice(records, 1, which, which + 1), {records.size(0)}), images.shape(), {0});
}

}  // namespace

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
