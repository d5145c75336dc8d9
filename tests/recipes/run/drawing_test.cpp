// The PNG file of drawn images, read back by the decoder of data sets.
#include "recipes/run/drawing.h"

#include <boost/test/unit_test.hpp>

#include "data/images/png.h"

namespace kb::drawing_test {
namespace {

// Returns grey values, row by row: the decoder gives four bytes a pixel.
std::vector<int> grey_of(const std::string& file) {
  const std::unique_ptr<ImageDecoder> decoder = open_png({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
  const ImageSize size = decoder->size();
  std::vector<int> values;
  decoder->decode({0, 0, size.width, size.height}, [&](const uint8_t* row) {
    for (int64_t x = 0; x < size.width; ++x) values.push_back(row[4 * x]);
  });
  return values;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(drawing)

// Three images of 1 x 2 pixels: two in the first row, one in the second, a white pixel between them.
BOOST_AUTO_TEST_CASE(images_lie_in_rows_one_pixel_apart) {
  const DrawnImages drawn{"made", {1, 1, 2}, {0, 0.2, 0.4, 1, -3, 7}};
  BOOST_TEST(drawing_name(drawn, 120) == "made-00000120.png");
  const std::vector<int> expected = {0,   51,  255, 102, 255,  //
                                     255, 255, 255, 255, 255,  //
                                     0,   255, 255, 255, 255};
  BOOST_TEST(grey_of(drawing_file(drawn)) == expected);
}

BOOST_AUTO_TEST_CASE(three_channels_are_red_green_blue) {
  const std::string file = drawing_file({"made", {3, 1, 1}, {1, 0, 0.2}});
  const std::unique_ptr<ImageDecoder> decoder = open_png({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
  std::vector<int> pixel;
  decoder->decode({0, 0, 1, 1}, [&](const uint8_t* row) { pixel.assign(row, row + 3); });
  BOOST_TEST(pixel == (std::vector<int>{255, 0, 51}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::drawing_test
