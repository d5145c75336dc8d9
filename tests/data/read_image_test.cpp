#include "data/images/read_image.h"

#include <boost/test/unit_test.hpp>

#include "data/images/view.h"
#include "tests/data/files.h"
#include "tests/data/made_images.h"

namespace kb::read_image_test {

namespace fs = std::filesystem;
using kb::Bytes, kb::ImageShape, kb::ImageSize;
using kb::test::made_pixels, kb::test::png_file;

BOOST_AUTO_TEST_SUITE(data_read_image)

struct Files {
  kb::test::TemporaryDirectory directory;
  fs::path write(const Bytes& file, const char* name = "image") const {
    kb::test::write_file(directory / name, kb::test::text_of(file));
    return directory / name;
  }
  fs::path png(ImageSize size, int components) const {
    return write(png_file(made_pixels(size, components), size, components));
  }
};

BOOST_AUTO_TEST_CASE(an_image_of_the_shape_itself_stays_as_it_is) {
  const Files files;
  for (const int components : {1, 3}) {
    const fs::path path = files.png({7, 5}, components);
    BOOST_TEST(kb::read_fitted_image(path, {components, 5, 7}) == kb::read_image(path).pixels);
  }
}

// A wide or a high image is cut to its middle, whatever lies beside it; then 2x2 equal pixels become one.
BOOST_AUTO_TEST_CASE(another_shape_shows_the_middle) {
  const Files files;
  const auto pgm = [&](int width, int height, const auto& value) {
    std::string text = "P5 " + std::to_string(width) + " " + std::to_string(height) + " 255\n";
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) text += static_cast<char>(value(x, y));
    return files.write(Bytes(text.begin(), text.end()));
  };
  const ImageShape square{1, 2, 2};
  const auto centred = [](int at) { return at < 2 ? 9 : at < 4 ? 100 : at < 6 ? 200 : 9; };
  const Bytes across{100, 200, 100, 200}, down{100, 100, 200, 200};
  BOOST_TEST(kb::read_fitted_image(pgm(8, 2, [&](int x, int) { return x < 3    ? 9
                                                                      : x == 3 ? 100
                                                                      : x == 4 ? 200
                                                                               : 9; }),
                                   square) == across);
  BOOST_TEST(kb::read_fitted_image(pgm(2, 8, [&](int, int y) { return y < 3    ? 9
                                                                      : y == 3 ? 100
                                                                      : y == 4 ? 200
                                                                               : 9; }),
                                   square) == down);
  const Bytes small = kb::read_fitted_image(pgm(8, 4, [&](int x, int) { return centred(x); }), square);
  BOOST_TEST(small[0] < small[1]);
  BOOST_TEST((small[0] == small[2] && small[1] == small[3]));
}

BOOST_AUTO_TEST_CASE(colours_become_luma_and_grey_is_repeated) {
  const Files files;
  const std::string text = "P6 2 1 255\n" + std::string{'\x0a', '\x64', '\x32', '\xff', '\xff', '\xff'};
  const fs::path colour = files.write(Bytes(text.begin(), text.end()));
  BOOST_TEST(kb::read_fitted_image(colour, {1, 1, 2}) == (Bytes{67, 255}));  // 0.299 10 + 0.587 100 + 0.114 50
  const fs::path grey = files.png({2, 1}, 1);
  const Bytes one = kb::read_fitted_image(grey, {1, 1, 2}), three = kb::read_fitted_image(grey, {3, 1, 2});
  for (size_t i = 0; i < three.size(); ++i) BOOST_TEST(three[i] == one[i % 2]);
}

BOOST_AUTO_TEST_CASE(a_view_is_that_of_an_evaluation) {
  const Files files;
  const fs::path path = files.png({40, 64}, 3);
  const Bytes file = png_file(made_pixels({40, 64}, 3), {40, 64}, 3);
  Bytes expected(3 * 28 * 28);
  kb::Resampler resampler;
  kb::render(*kb::open_image(file), kb::centre_view({40, 64}, 28), resampler, expected);
  BOOST_TEST(kb::read_centre_view(path, 28) == expected);
}

BOOST_AUTO_TEST_CASE(what_is_no_image_is_named) {
  const Files files;
  const fs::path path = files.write(Bytes{'G', 'I', 'F'});
  const std::string said = kb::test::data_error(files.directory.path(), [&] {
    kb::read_fitted_image(path, {1, 2, 2});
  });
  BOOST_TEST(said.starts_with("DIR/image: is not an image that is read here\n"), said);
  BOOST_TEST(kb::test::data_error(files.directory.path(), [&] {
               kb::read_centre_view(files.directory.path(), 8);
             }).starts_with("DIR: cannot be read\n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::read_image_test
