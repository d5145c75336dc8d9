// Axes and parts of images that do not lie in logical order.
#pragma once
#include <optional>

#include "graph/image_layout.h"

namespace kb {

// Returns the axes in memory that logical axes become, in rising order.
Ints physical_axes(const ImageLayout& layout, const Ints& logical);

// Returns whether two shapes differ in spatial axes of extent 1 alone.
bool is_same_image(const Dims& a, const Dims& b);

// Returns the attributes of a slice or pad of an image in `from` whose result lies in `to`: one number for each
// physical axis. Returns nothing where one of them is the logical order, or where a part of a block of channels is cut
// off.
std::optional<Attrs> cut_attrs(const Node& node, const ImageLayout& from, const ImageLayout& to);

// Returns whether a value of an image's shape follows from random bits, constants and smaller values alone, as the mask
// of dropout does, by at most `depth` nodes, one after the other. Such a value can be made in any layout.
bool is_generated(const Graph& graph, Value v, int depth = 8);

// Returns the layout of a part with so many channels of a concatenation in `whole`: blocks of the same size, or all
// channels last. Returns the logical order where the part does not have whole blocks.
ImageLayout layout_of_part(const ImageLayout& whole, int64_t channels);

}  // namespace kb
