// Tests layouts of images with one, two and three spatial axes against shapes that are written out.
#include "graph/image_layout.h"

#include <boost/test/unit_test.hpp>

namespace kb::image_layout_test {
namespace {

struct Case {
  ImageLayout layout;
  Dims logical, physical;
  std::string names;
  Ints channel_axes, last_axes;  // axes that hold the channels and the last spatial axis
  Ints strides;                  // a step along a physical axis, in elements of the logical array
};

const Case kCases[] = {
    {{0, 6, 2}, {2, 6, 4, 5}, {2, 6, 4, 5}, "NCHW", {1}, {3}, {120, 20, 5, 1}},
    {{6, 6, 1}, {2, 6, 5}, {2, 5, 6}, "NLC", {2}, {1}, {30, 1, 5}},
    {{6, 6, 2}, {2, 6, 4, 5}, {2, 4, 5, 6}, "NHWC", {3}, {2}, {120, 5, 1, 20}},
    {{6, 6, 3}, {2, 6, 3, 4, 5}, {2, 3, 4, 5, 6}, "NDHWC", {4}, {3}, {360, 20, 5, 1, 60}},
    {{2, 6, 1}, {2, 6, 5}, {2, 3, 5, 2}, "NCL_", {1, 3}, {2}, {30, 10, 1, 5}},
    {{2, 6, 2}, {2, 6, 4, 5}, {2, 3, 4, 5, 2}, "NCHW_", {1, 4}, {3}, {120, 40, 5, 1, 20}},
    {{2, 6, 3}, {2, 6, 3, 4, 5}, {2, 3, 3, 4, 5, 2}, "NCDHW_", {1, 5}, {4}, {360, 120, 20, 5, 1, 60}},
};

Ints row_major(const Dims& shape) {
  Ints strides(shape.size(), 1);
  for (size_t i = shape.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(image_layouts)

BOOST_AUTO_TEST_CASE(shapes_axes_and_strides) {
  for (const Case& c : kCases) BOOST_TEST_CONTEXT(c.names) {
      BOOST_TEST(c.layout.physical(c.logical) == c.physical);
      BOOST_TEST(c.layout.logical(c.physical) == c.logical);
      BOOST_TEST(axis_names(c.layout, "NC") == c.names);
      BOOST_TEST(c.layout.axes_of(0) == Ints{0});
      BOOST_TEST(c.layout.axes_of(1) == c.channel_axes);
      BOOST_TEST(c.layout.axes_of(c.layout.spatial + 1) == c.last_axes);
      BOOST_TEST(c.layout.strides(row_major(c.logical)) == c.strides);
    }
}

BOOST_AUTO_TEST_CASE(a_shape_and_its_block_give_the_layout) {
  for (const Case& c : kCases) BOOST_TEST_CONTEXT(c.names) {
      const std::optional<ImageLayout> found = image_layout(c.physical, c.layout.block, c.layout.spatial);
      BOOST_REQUIRE(found.has_value());
      BOOST_TEST((*found == c.layout));
      BOOST_TEST(!image_layout(c.physical, 4, c.layout.spatial).has_value());
      BOOST_TEST(!image_layout({2, 6}, c.layout.block, c.layout.spatial).has_value());
    }
  BOOST_TEST(!image_layout({2, 1, 4, 5, 6}, 6, 2).has_value());  // with one block the shape is (N, H, W, C)
}

BOOST_AUTO_TEST_CASE(filters_are_images_of_their_inputs) {
  BOOST_TEST(filter_layout({8, 3, 5, 7}, false).logical({8, 3, 5, 7}) == (Dims{8, 3, 5, 7}));
  BOOST_TEST(filter_layout({8, 5, 7, 3}, true).logical({8, 5, 7, 3}) == (Dims{8, 3, 5, 7}));
  BOOST_TEST(axis_names(filter_layout({8, 5, 7, 3}, true), "OI") == "OHWI");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::image_layout_test
