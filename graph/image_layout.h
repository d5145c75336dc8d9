// The order in which an image tensor's axes lie in memory, for any number of spatial axes. Every part that depends on
// this order asks here. The logical order is (N, C, spatial...). A filter bank (O, I, spatial...) is an image too.
#pragma once
#include <optional>

#include "graph/graph.h"

namespace kb {

struct ImageLayout {
  // 0: the logical order. The number of channels C: (N, spatial..., C). A smaller number: (N, C/block, spatial...,
  // block).
  int64_t block = 0;
  int64_t channels = 0;  // C; 0 in the logical order, which does not need it
  int64_t spatial = 2;   // number of spatial axes

  bool is_logical() const { return block == 0; }
  bool channels_last() const { return block > 0 && block == channels; }
  bool blocked() const { return block > 0 && block != channels; }
  friend bool operator==(const ImageLayout& a, const ImageLayout& b);

  // The split shape is the logical shape, or (N, C/block, block, spatial...) when there is a block of channels. Element
  // i of from_split() is the axis of the split shape that lies at physical axis i; to_split() is the inverse
  // permutation.
  Dims split(const Dims& logical) const;
  Ints from_split() const;
  Ints to_split() const;

  // The first returns the shape in memory of a logical shape, whose channels `block` divides; the second is its
  // inverse.
  Dims physical(const Dims& shape) const;
  Dims logical(const Dims& shape) const;
  // Returns the physical axes that a logical axis becomes; the one with the greatest stride comes first.
  Ints axes_of(int64_t axis) const;
  // Takes one number for each logical axis, returns one for each physical axis. If C is split, `outer` is the number of
  // C/block and `inner` that of block.
  Ints in_memory_order(const Ints& values, int64_t outer, int64_t inner) const;
  // Takes the steps along the logical axes, returns those along the physical ones.
  Ints strides(const Ints& steps) const { return in_memory_order(steps, steps[1] * block, steps[1]); }
};

// Returns the layout of a tensor of shape `physical` whose node has this `block`; nothing when the two do not fit.
std::optional<ImageLayout> image_layout(const Dims& physical, int64_t block, int64_t spatial);
// Returns the layout of a filter bank: (O, I, spatial...), or (O, spatial..., I) if `last`.
ImageLayout filter_layout(const Dims& physical, bool last);

// Returns one letter for each axis in memory; `outer` has the letters of the two axes that are not spatial: "NCHW",
// "NHWC", "NCHW_", "OHWI".
std::string axis_names(const ImageLayout& layout, const std::string& outer);

}  // namespace kb
