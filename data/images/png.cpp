#include "data/images/png.h"

#include <fmt/format.h>
#include <png.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace kb {
namespace {

constexpr png_uint_32 kMostPngSide = 65500;  // the limit that libjpeg has

// A decoder of PNG files. libpng reports an error by a function that does not return: it jumps back to the call of
// guarded().
class PngDecoder : public ImageDecoder {
 public:
  explicit PngDecoder(std::span<const uint8_t> file) : rest_(file) {
    png_ = png_create_read_struct(
        PNG_LIBPNG_VER_STRING, this,
        [](png_structp png, png_const_charp message) {
          static_cast<PngDecoder*>(png_get_error_ptr(png))->error_ = message;
          png_longjmp(png, 1);
        },
        [](png_structp, png_const_charp) {});
    if (png_ == nullptr || (info_ = png_create_info_struct(png_)) == nullptr) {
      destroy();
      throw std::bad_alloc();
    }
    try {
      guarded([this] { read_header(); });
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~PngDecoder() override { destroy(); }

  void decode(const PixelBox& box, const RowSink& row) override {
    const size_t pitch = 4 * static_cast<size_t>(size_.width);
    const bool is_interlaced = held_bytes_ > 0;
    memory_.resize(is_interlaced ? static_cast<size_t>(held_bytes_) : pitch);
    if (is_interlaced) read_passes(pitch);
    for (int64_t y = 0; y < box.top + box.height; ++y) {
      if (!is_interlaced) guarded([this] { png_read_row(png_, memory_.data(), nullptr); });
      const uint8_t* line = memory_.data() + (is_interlaced ? pitch * static_cast<size_t>(y) : 0);
      if (y >= box.top) row(line + 4 * box.left);
    }
  }

 private:
  template <class Work>
  void guarded(const Work& work) {
    if (setjmp(png_jmpbuf(png_)) != 0) throw UnreadableImage(error_);
    work();
  }

  void read_header() {
    png_set_read_fn(png_, this, [](png_structp png, png_bytep out, size_t bytes) {
      std::span<const uint8_t>& rest = static_cast<PngDecoder*>(png_get_io_ptr(png))->rest_;
      if (bytes > rest.size()) png_error(png, "the file is cut short");
      std::memcpy(out, rest.data(), bytes);
      rest = rest.subspan(bytes);
    });
    png_set_user_limits(png_, kMostPngSide, kMostPngSide);
    png_read_info(png_, info_);
    is_gray_ = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) == 0;
    // All files give 8 bits a colour. Gamma and transparency are not applied.
    png_set_palette_to_rgb(png_);
    png_set_expand_gray_1_2_4_to_8(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    png_set_filler(png_, 0, PNG_FILLER_AFTER);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    size_ = {png_get_image_width(png_, info_), png_get_image_height(png_, info_)};
    if (png_get_rowbytes(png_, info_) != 4 * static_cast<size_t>(size_.width))
      png_error(png_, "an unknown colour type");
    if (png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE) held_bytes_ = 4 * size_.width * size_.height;
  }

  void read_passes(size_t pitch) {
    for (int pass = 0; pass < passes_; ++pass)
      for (int64_t y = 0; y < size_.height; ++y)
        guarded([&] { png_read_row(png_, memory_.data() + pitch * static_cast<size_t>(y), nullptr); });
  }

  void destroy() { png_destroy_read_struct(&png_, &info_, nullptr); }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::span<const uint8_t> rest_;
  std::string error_;
  int passes_ = 1;
  std::vector<uint8_t> memory_;
};

}  // namespace

std::unique_ptr<ImageDecoder> open_png(std::span<const uint8_t> file) { return std::make_unique<PngDecoder>(file); }

std::string png_file_of(std::span<const uint8_t> pixels, int64_t width, int64_t height, int64_t channels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  if ((channels != 1 && channels != 3) || std::ssize(pixels) != width * height * channels)
    throw std::logic_error(fmt::format("{} bytes for {}x{} pixels of {}", pixels.size(), width, height, channels));
  png_alloc_size_t bytes = 0;
  const auto write = [&](void* to) {
    return png_image_write_to_memory(&image, to, &bytes, 0, pixels.data(), 0, nullptr);
  };
  std::string file;
  bool is_written = write(nullptr) != 0;  // sets `bytes`
  file.resize(bytes);
  is_written = is_written && write(file.data()) != 0;
  if (!is_written) throw std::runtime_error(fmt::format("PNG of {}x{} pixels: {}", width, height, image.message));
  return file;
}

}  // namespace kb
