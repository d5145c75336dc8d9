#include "tests/data/made_images.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <jpeglib.h>

#include "data/hash_random.h"

namespace kb::test {
namespace {

void write_orientation(jpeg_compress_struct& jpeg, int orientation) {
  if (orientation == 0) return;
  // The EXIF part has one entry of a big-endian TIFF directory: the orientation's tag 0x112, type SHORT, 1 value.
  uint8_t exif[] = {'E', 'x',  'i', 'f', 0, 0, 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1,
                    1,   0x12, 0,   3,   0, 0, 0,   1,   0, 0,  0, 0, 0, 0, 0, 0};
  exif[25] = static_cast<uint8_t>(orientation);
  jpeg_write_marker(&jpeg, JPEG_APP0 + 1, exif, sizeof exif);
}

J_COLOR_SPACE space_of(int components) {
  return components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
}

}  // namespace

Bytes jpeg_file(const std::vector<uint8_t>& pixels, ImageSize size, const JpegKind& kind) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);  // libjpeg ends the program if a test asks for something that is no JPEG
  jpeg_create_compress(&jpeg);
  uint8_t* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&jpeg, &memory, &bytes);
  jpeg.image_width = static_cast<JDIMENSION>(size.width);
  jpeg.image_height = static_cast<JDIMENSION>(size.height);
  jpeg.input_components = kind.components;
  jpeg.in_color_space = space_of(kind.components);
  jpeg_set_defaults(&jpeg);
  if (kind.ycck) jpeg_set_colorspace(&jpeg, JCS_YCCK);
  if (kind.components == 4) jpeg.write_Adobe_marker = kind.adobe_marker ? TRUE : FALSE;
  for (const int component : {0, 3}) {  // luma and, in YCCK, black
    if (kind.components == 1 || component >= kind.components || (kind.components == 4 && !kind.ycck)) continue;
    jpeg.comp_info[component].h_samp_factor = kind.horizontal;
    jpeg.comp_info[component].v_samp_factor = kind.vertical;
  }
  jpeg_set_quality(&jpeg, kind.quality, TRUE);
  jpeg.restart_interval = static_cast<unsigned>(kind.restart);
  jpeg.arith_code = kind.arithmetic ? TRUE : FALSE;
  if (kind.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  write_orientation(jpeg, kind.orientation);
  for (int64_t y = 0; y < size.height; ++y) {
    auto line = const_cast<JSAMPROW>(pixels.data() + y * size.width * kind.components);
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  Bytes file(memory, memory + bytes);
  std::free(memory);
  return file;
}

Bytes png_file(const std::vector<uint8_t>& pixels, ImageSize size, int components, bool interlaced) {
  Bytes file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp to, png_bytep bytes, size_t count) {
        auto& out = *static_cast<Bytes*>(png_get_io_ptr(to));
        out.insert(out.end(), bytes, bytes + count);
      },
      [](png_structp) {});
  constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
  png_set_IHDR(png, info, static_cast<png_uint_32>(size.width), static_cast<png_uint_32>(size.height), 8,
               kTypes[components - 1], interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  std::vector<png_bytep> lines;
  for (int64_t y = 0; y < size.height; ++y)
    lines.push_back(const_cast<png_bytep>(pixels.data() + y * size.width * components));
  png_write_image(png, lines.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::vector<uint8_t> made_pixels(ImageSize size, int components, uint64_t seed) {
  HashStream random(seed);
  std::vector<uint8_t> pixels;
  for (int64_t y = 0; y < size.height; ++y)
    for (int64_t x = 0; x < size.width; ++x)
      for (int c = 0; c < components; ++c) {
        const double wave = std::sin(0.11 * static_cast<double>(x) * (c + 1)) + std::cos(0.07 * static_cast<double>(y));
        pixels.push_back(static_cast<uint8_t>(110 + 45 * wave + random.below(40)));
      }
  return pixels;
}

std::vector<uint8_t> decoded(const Bytes& file, const PixelBox& box) {
  std::vector<uint8_t> pixels(static_cast<size_t>(3 * box.width * box.height));
  uint8_t* next = pixels.data();
  open_image(file)->decode(box, [&](const uint8_t* row) {
    for (int64_t x = 0; x < box.width; ++x, next += 3) std::copy_n(row + 4 * x, 3, next);
  });
  return pixels;
}

std::vector<uint8_t> decoded(const Bytes& file) {
  const ImageSize size = open_image(file)->size();
  return decoded(file, {0, 0, size.width, size.height});
}

std::string decoding_error(const Bytes& file) {
  try {
    decoded(file);
  } catch (const UnreadableImage& error) {
    return error.what();
  }
  return "(nothing thrown)";
}

}  // namespace kb::test
