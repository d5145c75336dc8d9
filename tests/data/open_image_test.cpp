#include "data/images/open_image.h"

#include <libdeflate.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "data/hash_random.h"
#include "data/images/jpeg.h"
#include "data/images/pixels.h"
#include "tests/data/files.h"
#include "tests/data/made_images.h"

namespace kb::open_image_test {

namespace {

namespace fs = std::filesystem;
using kb::Bytes, kb::ImageSize, kb::PixelBox, kb::test::JpegKind;
using kb::test::decoded, kb::test::decoding_error, kb::test::jpeg_file, kb::test::made_pixels, kb::test::png_file;

// Cuts a box out of the whole image.
std::vector<uint8_t> cut(const std::vector<uint8_t>& pixels, ImageSize size, const PixelBox& box) {
  std::vector<uint8_t> out;
  for (int64_t y = box.top; y < box.top + box.height; ++y) {
    const auto line = pixels.begin() + 3 * (y * size.width + box.left);
    out.insert(out.end(), line, line + 3 * box.width);
  }
  return out;
}

PixelBox random_box_of(ImageSize size, kb::HashStream& random) {
  const int width = 1 + random.below(static_cast<int>(size.width));
  const int height = 1 + random.below(static_cast<int>(size.height));
  return {random.below(static_cast<int>(size.width) - width + 1),
          random.below(static_cast<int>(size.height) - height + 1), width, height};
}

// Counts the random boxes whose pixels differ from those of the whole image.
int differing_boxes(const Bytes& file, int boxes, uint64_t seed) {
  const ImageSize size = kb::open_image(file)->size();
  const std::vector<uint8_t> whole = decoded(file);
  kb::HashStream random(seed);
  int differ = 0;
  for (int i = 0; i < boxes; ++i) {
    const PixelBox box = random_box_of(size, random);
    differ += decoded(file, box) != cut(whole, size, box);
  }
  return differ;
}

// Returns the root of the mean square difference, in grey levels.
double difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  BOOST_REQUIRE(a.size() == b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

BOOST_AUTO_TEST_SUITE(data_open_image)

BOOST_AUTO_TEST_CASE(a_box_has_the_pixels_of_the_whole_image) {
  const ImageSize size{131, 97};
  for (const auto& [horizontal, vertical] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}})
    for (const bool progressive : {false, true})
      for (const int restart : {0, 5}) {
        const JpegKind kind{
            .horizontal = horizontal, .vertical = vertical, .progressive = progressive, .restart = restart};
        const Bytes file = jpeg_file(made_pixels(size, 3), size, kind);
        BOOST_TEST(differing_boxes(file, 60, 7) == 0,
                   horizontal << "x" << vertical << " progressive " << progressive << " restart " << restart);
      }
  for (const int components : {1, 4})
    BOOST_TEST(differing_boxes(jpeg_file(made_pixels(size, components), size, {.components = components}), 60, 8) == 0);
  for (const bool interlaced : {false, true})
    for (const int components : {1, 2, 3, 4})
      BOOST_TEST(differing_boxes(png_file(made_pixels(size, components), size, components, interlaced), 20, 9) == 0);
}

// libjpeg-turbo writes rows at a multiple of 16 bytes past the caches.
BOOST_AUTO_TEST_CASE(rows_are_written_into_the_caches) {
  for (const int64_t width : {8, 100, 640}) {
    const Bytes file = jpeg_file(made_pixels({width, 4}, 3), {width, 4});
    kb::open_image(file)->decode({0, 0, width, 4},
                                 [](const uint8_t* row) { BOOST_TEST(reinterpret_cast<uintptr_t>(row) % 16 != 0); });
  }
}

BOOST_AUTO_TEST_CASE(pixels_are_those_that_were_written) {
  const ImageSize size{48, 32};
  const std::vector<uint8_t> colour = made_pixels(size, 3), gray = made_pixels(size, 1), inks = made_pixels(size, 4);
  BOOST_TEST(decoded(png_file(colour, size, 3)) == colour);
  std::vector<uint8_t> three, no_alpha, light;
  for (const uint8_t g : gray) three.insert(three.end(), {g, g, g});
  for (size_t i = 0; i < inks.size(); i += 4) {
    no_alpha.insert(no_alpha.end(), {inks[i], inks[i + 1], inks[i + 2]});
    for (size_t c = 0; c < 3; ++c)
      light.push_back(static_cast<uint8_t>(std::lround(inks[i + c] * inks[i + 3] / 255.0)));
  }
  BOOST_TEST(decoded(png_file(gray, size, 1)) == three);
  BOOST_TEST(decoded(png_file(gray, size, 1, true)) == three);
  BOOST_TEST(decoded(png_file(inks, size, 4)) == no_alpha);
  const JpegKind fine{.horizontal = 1, .vertical = 1, .quality = 100};
  BOOST_TEST(difference(decoded(jpeg_file(colour, size, fine)), colour) < 1.0);
  BOOST_TEST(difference(decoded(jpeg_file(gray, size, {.components = 1, .quality = 100})), three) < 1.0);
  // Adobe's files hold 255 for no ink, so that the product of colour and black is the light.
  for (const bool ycck : {false, true})
    BOOST_TEST(
        difference(decoded(jpeg_file(inks, size,
                                     {.components = 4, .horizontal = 1, .vertical = 1, .ycck = ycck, .quality = 100})),
                   light) < 1.5);
  std::vector<uint8_t> inverted = inks;
  for (uint8_t& ink : inverted) ink = static_cast<uint8_t>(255 - ink);
  const JpegKind plain{.components = 4, .adobe_marker = false, .quality = 100};
  BOOST_TEST(difference(decoded(jpeg_file(inverted, size, plain)), light) < 1.5);
}

BOOST_AUTO_TEST_CASE(an_orientation_is_not_applied) {
  const ImageSize size{40, 20};
  const std::vector<uint8_t> pixels = made_pixels(size, 3);
  const Bytes rotated = jpeg_file(pixels, size, {.orientation = 6});
  BOOST_CHECK((kb::open_image(rotated)->size() == size));
  BOOST_TEST(decoded(rotated) == decoded(jpeg_file(pixels, size)));
}

BOOST_AUTO_TEST_CASE(images_of_extreme_sizes) {
  for (const ImageSize size : {ImageSize{1, 1}, {20000, 3}, {2, 20000}, {1, 9}, {17, 1}}) {
    const std::vector<uint8_t> pixels = made_pixels(size, 3);
    BOOST_TEST(decoded(png_file(pixels, size, 3)) == pixels);
    for (const bool progressive : {false, true}) {
      const Bytes file = jpeg_file(pixels, size, {.progressive = progressive});
      BOOST_TEST(differing_boxes(file, 10, 3) == 0);
      BOOST_CHECK((kb::open_image(file)->size() == size));
    }
  }
}

BOOST_AUTO_TEST_CASE(damage_is_told) {
  const ImageSize size{64, 64};
  const Bytes file = jpeg_file(made_pixels(size, 3), size), png = png_file(made_pixels(size, 3), size, 3);
  const auto first = [](const Bytes& bytes, size_t count) { return Bytes(bytes.begin(), bytes.begin() + count); };
  BOOST_TEST(decoding_error({}) == "an empty file");
  BOOST_TEST(decoding_error(first(file, 1)) == "neither JPEG, PNG nor binary PNM");
  const std::string text = "GIF89a";
  BOOST_TEST(decoding_error(Bytes(text.begin(), text.end())) == "neither JPEG, PNG nor binary PNM");
  BOOST_TEST(decoding_error(first(file, 2)) == "Premature end of JPEG file");
  BOOST_TEST(decoding_error(first(file, file.size() / 2)) == "Premature end of JPEG file");
  BOOST_TEST(decoding_error(first(png, 20)) == "the file is cut short");
  BOOST_TEST(decoding_error(first(png, png.size() / 2)) == "the file is cut short");
  for (const bool progressive : {false, true}) {
    Bytes ended = jpeg_file(made_pixels(size, 3), size, {.progressive = progressive});
    constexpr uint8_t kEnd[] = {0xff, 0xd9};
    std::copy(std::begin(kEnd), std::end(kEnd), ended.end() - 300);
    BOOST_TEST(decoding_error(ended) == "Corrupt JPEG data: premature end of data segment");
  }
  // An arithmetic decoder makes some pixels of most damage, but some damage makes it run past the end of a block.
  const Bytes arithmetic = jpeg_file(made_pixels(size, 3), size, {.arithmetic = true});
  BOOST_TEST(decoding_error(arithmetic) == "(nothing thrown)");
  int found = 0;
  for (int from = 300; from < 1500; from += 100) {
    Bytes damaged = arithmetic;
    std::fill(damaged.end() - from, damaged.end() - 100, uint8_t{0});
    found += decoding_error(damaged) == "Corrupt JPEG data: bad arithmetic code" ? 1 : 0;
  }
  BOOST_TEST(found > 0);
  // The rows above the damage can be decoded.
  const Bytes half = first(file, file.size() / 2);
  BOOST_TEST(decoded(half, {0, 0, 64, 8}) == decoded(file, {0, 0, 64, 8}));
  // A header that promises 65500 x 65500 pixels in three passes would take 13 GB.
  Bytes vast = jpeg_file(made_pixels(size, 3), size, {.progressive = true});
  for (size_t at = 0; at + 9 < vast.size(); ++at)
    if (vast[at] == 0xff && vast[at + 1] == 0xc2)
      for (const size_t side : {at + 5, at + 7}) vast[side] = 0xff, vast[side + 1] = 0xdc;
  BOOST_TEST(decoding_error(vast) != "(nothing thrown)");
}

// Half a megabyte of compressed zeros can promise 4290 million pixels, which would take a minute to decode each time.
BOOST_AUTO_TEST_CASE(more_pixels_than_any_camera_makes_are_damage) {
  Bytes vast = png_file(made_pixels({8, 8}, 1), {8, 8}, 1);
  const auto set_side = [&](size_t at, uint32_t side) {
    for (size_t i = 0; i < 4; ++i) vast[at + i] = static_cast<uint8_t>(side >> (24 - 8 * i));
  };
  const auto resized = [&](uint32_t width, uint32_t height) {
    set_side(16, width);
    set_side(20, height);
    const auto sum = static_cast<uint32_t>(::libdeflate_crc32(0, vast.data() + 12, 17));  // sum over the header's chunk
    set_side(29, sum);
    return decoding_error(vast);
  };
  BOOST_TEST(resized(65500, 65500) == "an image of 65500x65500 pixels: at most 180 million are decoded, 65535 a side");
  BOOST_TEST(resized(16000, 16000).starts_with("an image of 16000x16000 pixels: at most"));
  BOOST_TEST(resized(8, 8) == "(nothing thrown)");
}

BOOST_AUTO_TEST_CASE(what_is_held_as_a_whole_is_known_before) {
  const ImageSize size{64, 48};
  const auto held = [](const Bytes& file) { return kb::open_image(file)->held_bytes(); };
  BOOST_TEST(held(png_file(made_pixels(size, 3), size, 3)) == 0);
  BOOST_TEST(held(png_file(made_pixels(size, 3), size, 3, true)) == 4 * 64 * 48);
  BOOST_TEST(held(jpeg_file(made_pixels(size, 3), size)) == 0);
  // A coefficient has 16 bits. Each pixel has one coefficient of luma, and a quarter of one of each of two colours.
  BOOST_TEST(held(jpeg_file(made_pixels(size, 3), size, {.progressive = true})) == 2 * 64 * 48 * 3 / 2);
}

namespace {

// Returns a PNG of one row, from the bytes that it stores: `bits` a value, and `kind`, the colour type of its header.
Bytes png_of_row(uint32_t width, uint8_t bits, uint8_t kind, const Bytes& row, const Bytes& palette = {}) {
  const std::string signature = "\x89PNG\r\n\x1a\n";
  Bytes file(signature.begin(), signature.end());
  const auto put = [](Bytes& to, uint32_t word) {
    for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<uint8_t>(word >> shift));
  };
  const auto chunk = [&](const std::string& name, const Bytes& data) {
    put(file, static_cast<uint32_t>(data.size()));
    const size_t begin = file.size();
    file.insert(file.end(), name.begin(), name.end());
    file.insert(file.end(), data.begin(), data.end());
    put(file, ::libdeflate_crc32(0, file.data() + begin, file.size() - begin));
  };
  Bytes header, filtered = {0}, packed(1000);
  put(header, width);
  put(header, 1);
  header.insert(header.end(), {bits, kind, 0, 0, 0});
  filtered.insert(filtered.end(), row.begin(), row.end());
  libdeflate_compressor* compressor = ::libdeflate_alloc_compressor(6);
  packed.resize(::libdeflate_zlib_compress(compressor, filtered.data(), filtered.size(), packed.data(), packed.size()));
  ::libdeflate_free_compressor(compressor);
  chunk("IHDR", header);
  if (!palette.empty()) chunk("PLTE", palette);
  chunk("IDAT", packed);
  chunk("IEND", {});
  return file;
}

}  // namespace

// Each kind becomes 8 bits of red, green and blue: gray is repeated, alpha is dropped, and of 16 bits the upper stay.
BOOST_AUTO_TEST_CASE(png_files_of_every_kind) {
  using Pixels = std::vector<uint8_t>;
  BOOST_TEST(decoded(png_of_row(3, 1, 0, {0b10100000})) == (Pixels{255, 255, 255, 0, 0, 0, 255, 255, 255}));
  BOOST_TEST(decoded(png_of_row(2, 4, 0, {0x1f})) == (Pixels{17, 17, 17, 255, 255, 255}));
  BOOST_TEST(decoded(png_of_row(1, 16, 0, {0x12, 0xff})) == (Pixels{0x12, 0x12, 0x12}));
  BOOST_TEST(decoded(png_of_row(1, 16, 2, {1, 255, 2, 255, 3, 255})) == (Pixels{1, 2, 3}));
  BOOST_TEST(decoded(png_of_row(2, 8, 3, {1, 0}, {7, 8, 9, 4, 5, 6})) == (Pixels{4, 5, 6, 7, 8, 9}));
  BOOST_TEST(decoded(png_of_row(1, 8, 4, {50, 0})) == (Pixels{50, 50, 50}));
  BOOST_TEST(decoded(png_of_row(2, 8, 6, {1, 2, 3, 0, 4, 5, 6, 255})) == (Pixels{1, 2, 3, 4, 5, 6}));
  BOOST_TEST(kb::open_image(png_of_row(1, 8, 4, {50, 0}))->is_gray());
  BOOST_TEST(!kb::open_image(png_of_row(2, 8, 3, {1, 0}, {7, 8, 9, 4, 5, 6}))->is_gray());
}

BOOST_AUTO_TEST_CASE(pnm_files) {
  const auto file = [](const std::string& text) { return Bytes(text.begin(), text.end()); };
  BOOST_TEST(differing_boxes(file("P6 # made\n3 2 255\nabcdefghijklmnopqr"), 20, 4) == 0);
  BOOST_TEST(decoded(file("P5 2 1 255\nxy")) == (std::vector<uint8_t>{'x', 'x', 'x', 'y', 'y', 'y'}));
  BOOST_TEST(kb::open_image(file("P5 2 1 255\nxy"))->is_gray());
  BOOST_TEST(decoding_error(file("P5 18446744073709551617 1 255\nx")) ==  // 2^64 + 1
             "a PNM file whose width is no number from 1 to 65500");
  BOOST_TEST(decoding_error(file("P5 65500 1 255\n" + std::string(65500, 'x'))) == "(nothing thrown)");
  BOOST_TEST(decoding_error(file("P5 65501 1 255\n" + std::string(65501, 'x'))) != "(nothing thrown)");
}

// Bare pixels are as many as the header says; a side has 16 bits in the index of a set.
BOOST_AUTO_TEST_CASE(files_of_bare_pixels) {
  const ImageSize size{5, 3};
  const std::vector<uint8_t> pixels = made_pixels(size, 3);
  const Bytes good = kb::encode_pixels(pixels, size);
  BOOST_TEST(decoded(good) == pixels);
  BOOST_TEST(differing_boxes(good, 20, 5) == 0);
  const auto with = [&](size_t bytes, uint32_t width, uint32_t height) {
    Bytes file = good;
    std::memcpy(file.data() + 8, &width, sizeof width);
    std::memcpy(file.data() + 12, &height, sizeof height);
    file.resize(bytes, uint8_t{0});
    return decoding_error(file);
  };
  const std::string wrong = "the file is not as long as its size in pixels says";
  BOOST_TEST(with(good.size(), 3, 5) == "(nothing thrown)");
  BOOST_TEST(with(15, 5, 3) == "the file is cut short");
  BOOST_TEST(with(good.size() - 1, 5, 3) == wrong);
  BOOST_TEST(with(good.size() + 1, 5, 3) == wrong);
  BOOST_TEST(with(16, 0, 3) == wrong);
  BOOST_TEST(with(16, 3, 0) == wrong);
  BOOST_TEST(with(16, 0x80000000, 0x80000000) == wrong);
  BOOST_TEST(with(16 + 3 * 65535, 65535, 1) == "(nothing thrown)");
  for (const auto& [width, height] : {std::pair(65536u, 1u), {1u, 65536u}})
    BOOST_TEST(with(16 + 3 * 65536, width, height).starts_with("an image of "));
}

// Bytes between the parts of a JPEG are passed over: libjpeg warns of them, and the pixels are whole.
BOOST_AUTO_TEST_CASE(stray_bytes_are_no_damage) {
  const ImageSize size{40, 30};
  const Bytes good = jpeg_file(made_pixels(size, 3), size);
  Bytes strayed = good;
  strayed.insert(strayed.begin() + 2, 3, uint8_t{0});
  BOOST_TEST(decoded(strayed) == decoded(good));
}

BOOST_AUTO_TEST_CASE(encoding_keeps_an_image) {
  const ImageSize size{50, 30};
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < size.width * size.height; ++i)
    for (const int c : {2, 3, 1}) pixels.push_back(static_cast<uint8_t>(c * (i % size.width)));
  BOOST_TEST(difference(decoded(kb::encode_jpeg(pixels, size, 100)), pixels) < 2.0);
  BOOST_CHECK_THROW(kb::encode_jpeg(pixels, {50, 31}, 90), std::logic_error);
  BOOST_TEST(kb::decode_entropy(kb::encode_jpeg(pixels, size, 90)) == 7 * 4 + 2 * 4 * 2);
}

BOOST_AUTO_TEST_CASE(boxes_of_photographs) {
  const auto folder = kb::test::data_dir("imagenet-sample");
  if (!folder) return;
  int files = 0, differ = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(*folder)) {
    const std::string text = kb::test::read_file(entry.path());
    differ += differing_boxes(Bytes(text.begin(), text.end()), 3, static_cast<uint64_t>(++files));
  }
  BOOST_TEST(files == 103);
  BOOST_TEST(differ == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace kb::open_image_test
