#include "recipes/task/augment.h"

namespace kb {
namespace {

// Returns, for every pixel of images [N, C, H, W], whether its position along `axis` is at or after entry `which` of
// the image's record. The entry is broadcast before the comparison, so that a fused kernel reads only the records from
// memory.
Tensor reached(Tensor images, int64_t axis, Tensor records, int64_t which) {
  Tensor at = broadcast_axes(iota(images.graph(), DType::i32, images.size(axis)), images.shape(), {axis});
  return at >= broadcast_axes(reshape(slice(records, 1, which, which + 1), {records.size(0)}), images.shape(), {0});
}

}  // namespace

Tensor cut_out(Tensor images, Tensor box, const std::vector<uint8_t>& fill) {
  const Call call(Where::current());
  Tensor paint =
      constant(images.graph(), DType::u8, {images.size(1), 1, 1}, std::vector<double>(fill.begin(), fill.end()));
  Tensor rows = bit_and(reached(images, 2, box, 0), logical_not(reached(images, 2, box, 2)));
  Tensor columns = bit_and(reached(images, 3, box, 1), logical_not(reached(images, 3, box, 3)));
  return select(bit_and(rows, columns), paint, images);
}

Tensor mix_images(Tensor images, Tensor partner, Tensor weight) {
  const Call call(Where::current());
  Tensor own = broadcast_axes(weight, images.shape(), {0});
  return own * cast(images, own.dtype()) + (1.0 - own) * cast(gather(images, partner), own.dtype());
}

}  // namespace kb
