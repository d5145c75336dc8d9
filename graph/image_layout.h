// The order in which an image tensor's axes lie in memory, for any number of spatial ones; all that asks for it asks
// here. Logical order is (N, C, spatial...). A filter bank is an image too, (O, I, spatial...).
#pragma once
#include <optional>

#include "graph/graph.h"

namespace kb {

struct ImageLayout {
  // 0: logical order. The number of channels: (N, spatial..., C). Else (N, C/block, spatial..., block).
  int64_t block = 0;
  int64_t channels = 0;  // C; no part of logical order
  int64_t spatial = 2;   // number of spatial axes

  bool is_logical() const { return block == 0; }
  bool channels_last() const { return block > 0 && block == channels; }
  bool blocked() const { return block > 0 && block != channels; }
  friend bool operator==(const ImageLayout& a, const ImageLayout& b);

  // Between logical and physical order lies the split shape: the logical one, and (N, C/block, block, spatial...) if
  // blocked. Element i of from_split() is the axis of the split shape that lies at physical axis i; to_split() is the
  // inverse.
  Dims split(const Dims& logical) const;
  Ints from_split() const;
  Ints to_split() const;

  // The shape in memory of a logical shape whose channels `block` divides, and back.
  Dims physical(const Dims& shape) const;
  Dims logical(const Dims& shape) const;
  // Physical axes of a logical axis, major first.
  Ints axes_of(int64_t axis) const;
  // One number for each physical axis where `values` has one for each logical axis, and the channels' is split into
  // `outer` (of C/block) and `inner` (of block) if blocked.
  Ints in_memory_order(const Ints& values, int64_t outer, int64_t inner) const;
  // Steps along the physical axes where `steps` are those along the logical ones.
  Ints strides(const Ints& steps) const { return in_memory_order(steps, steps[1] * block, steps[1]); }
};

// Gives the layout of a tensor of shape `physical` whose node says `block`; none where the two do not fit.
std::optional<ImageLayout> image_layout(const Dims& physical, int64_t block, int64_t spatial);
// Gives that of a filter bank: (O, I, spatial...), or (O, spatial..., I) if `last`.
ImageLayout filter_layout(const Dims& physical, bool last);

// A letter for each axis in memory; `outer` names the two that are not spatial: "NCHW", "NHWC", "NCHW_", "OHWI".
std::string axis_names(const ImageLayout& layout, const std::string& outer);

}  // namespace kb
