#include "data/images/jpeg.h"

#include <fmt/format.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

// jpeglib.h uses the names of <cstdio>, and so comes after it.
#include <jpeglib.h>

// jerror.h comes after jpeglib.h, which says which features the library has.
#include <jerror.h>

namespace kb {
namespace {

// The most scans of a file. Encoders make about ten; a file with thousands would take hours.
constexpr int kMostScans = 100;

// Columns that are decoded beside the box: colours at half the resolution are interpolated from a pixel's neighbours.
constexpr int64_t kMargin = 4;

// libjpeg-turbo's colour conversion writes rows that lie at a multiple of 32 bytes (16 with SSE2) past the caches, so
// that whoever reads them waits for memory. A row that lies between such places is written into the caches.
constexpr size_t kVectorBytes = 32, kOffAlignment = 4;

uint8_t* off_alignment(uint8_t* memory) {
  const size_t past = reinterpret_cast<uintptr_t>(memory) % kVectorBytes;
  return memory + (kVectorBytes - past) + kOffAlignment;
}

// Returns whether pixels are guesses after this warning of libjpeg. Other warnings (stray bytes, odd headers) are
// harmless.
bool is_damage(int code) {
  constexpr int kDamage[] = {JWRN_JPEG_EOF,          JWRN_HIT_MARKER,  JWRN_HUFF_BAD_CODE,
                             JWRN_BOGUS_PROGRESSION, JWRN_MUST_RESYNC, JWRN_ARITH_BAD_CODE};
  return std::find(std::begin(kDamage), std::end(kDamage), code) != std::end(kDamage);
}

// libjpeg reports an error by a function that must not return. This one jumps back to the call of guard().
struct JpegErrors {
  jpeg_error_mgr manager;  // the first member, since libjpeg's pointer to it is cast to JpegErrors
  std::jmp_buf jump;

  JpegErrors() {
    jpeg_std_error(&manager);
    manager.error_exit = leave;
    manager.emit_message = [](j_common_ptr jpeg, int level) {
      if (level < 0 && is_damage(jpeg->err->msg_code)) leave(jpeg);
    };
    manager.output_message = [](j_common_ptr) {};
  }

  [[noreturn]] static void leave(j_common_ptr jpeg) { std::longjmp(reinterpret_cast<JpegErrors*>(jpeg->err)->jump, 1); }

  std::string text(j_common_ptr jpeg) const {
    char message[JMSG_LENGTH_MAX];
    manager.format_message(jpeg, message);
    return message;
  }
};

// Runs `work`, which calls libjpeg. It must not hold an object with a destructor, because an error jumps out of it.
template <class Jpeg, class Work>
void guard(Jpeg& jpeg, JpegErrors& errors, const Work& work) {
  const auto common = reinterpret_cast<j_common_ptr>(&jpeg);
  if (setjmp(errors.jump) != 0) throw UnreadableImage(errors.text(common));
  work();
}

// A decompressor that has read the header.
class JpegInput {
 public:
  explicit JpegInput(std::span<const uint8_t> file) {
    jpeg.err = &errors_.manager;
    try {
      guard(jpeg, errors_, [&] {
        jpeg_create_decompress(&jpeg);
        jpeg.mem->max_memory_to_use = kDecodeBytes;
        progress_.progress_monitor = [](j_common_ptr common) {
          const auto input = reinterpret_cast<j_decompress_ptr>(common);
          if (input->input_scan_number > kMostScans) ERREXIT1(input, JERR_BAD_PROGRESSION, input->input_scan_number);
        };
        jpeg.progress = &progress_;
        jpeg_mem_src(&jpeg, file.data(), file.size());
        jpeg_read_header(&jpeg, TRUE);
      });
    } catch (...) {
      jpeg_destroy_decompress(&jpeg);
      throw;
    }
  }
  ~JpegInput() { jpeg_destroy_decompress(&jpeg); }
  JpegInput(const JpegInput&) = delete;
  JpegInput& operator=(const JpegInput&) = delete;

  template <class Work>
  void guarded(const Work& work) {
    guard(jpeg, errors_, work);
  }

  // Returns the number of 8 x 8 blocks of coefficients.
  int64_t blocks() const {
    int64_t blocks = 0;
    for (int c = 0; c < jpeg.num_components; ++c)
      blocks += int64_t{jpeg.comp_info[c].width_in_blocks} * jpeg.comp_info[c].height_in_blocks;
    return blocks;
  }

  jpeg_decompress_struct jpeg{};

 private:
  JpegErrors errors_;
  jpeg_progress_mgr progress_{};
};

// Returns round(a b / 255) for a and b in [0, 255].
uint8_t share(int a, int b) {
  const int product = a * b + 128;
  return static_cast<uint8_t>((product + (product >> 8)) >> 8);
}

// Makes red, green and blue of CMYK in place. `is_inverted` means that 255 stands for no ink, as Adobe's programs
// write.
void ink_to_light(std::span<uint8_t> cmyk, bool is_inverted) {
  for (size_t at = 0; at < cmyk.size(); at += 4) {
    const int flip = is_inverted ? 0 : 255;
    const int light = cmyk[at + 3] ^ flip;
    for (size_t c = 0; c < 3; ++c) cmyk[at + c] = share(cmyk[at + c] ^ flip, light);
  }
}

class JpegDecoder : public ImageDecoder {
 public:
  explicit JpegDecoder(std::span<const uint8_t> file) : input_(file) {
    size_ = {static_cast<int64_t>(input_.jpeg.image_width), static_cast<int64_t>(input_.jpeg.image_height)};
    is_gray_ = input_.jpeg.num_components == 1;
    if (jpeg_has_multiple_scans(&input_.jpeg) != 0)
      held_bytes_ = input_.blocks() * static_cast<int64_t>(sizeof(JBLOCK));
  }

  void decode(const PixelBox& box, const RowSink& row) override {
    jpeg_decompress_struct& jpeg = input_.jpeg;
    const bool is_ink = jpeg.num_components == 4;
    start(box, is_ink ? JCS_CMYK : JCS_EXT_RGBX);
    const size_t offset = 4 * (static_cast<size_t>(box.left) - first_column_);
    line_.resize(4 * size_t{jpeg.output_width} + kOffAlignment + kVectorBytes);
    JSAMPROW line = off_alignment(line_.data());
    for (int64_t y = 0; y < box.height; ++y) {
      input_.guarded([&] { jpeg_read_scanlines(&jpeg, &line, 1); });
      const std::span<uint8_t> pixels(line + offset, 4 * static_cast<size_t>(box.width));
      if (is_ink) ink_to_light(pixels, jpeg.saw_Adobe_marker != 0);
      row(pixels.data());
    }
  }

 private:
  void start(const PixelBox& box, J_COLOR_SPACE space) {
    jpeg_decompress_struct& jpeg = input_.jpeg;
    const int64_t left = std::max<int64_t>(box.left - kMargin, 0);
    const int64_t right = std::min(box.left + box.width + kMargin, size_.width);
    first_column_ = static_cast<JDIMENSION>(left);
    columns_ = static_cast<JDIMENSION>(right - left);
    jpeg.out_color_space = space;
    input_.guarded([&] {
      jpeg_start_decompress(&jpeg);
      if (columns_ < jpeg.output_width) jpeg_crop_scanline(&jpeg, &first_column_, &columns_);
      if (box.top > 0) jpeg_skip_scanlines(&jpeg, static_cast<JDIMENSION>(box.top));
    });
  }

  JpegInput input_;
  JDIMENSION first_column_ = 0, columns_ = 0;  // whole blocks that libjpeg makes pixels of
  std::vector<uint8_t> line_;
};

// A compressor that writes into memory.
class JpegOutput {
 public:
  JpegOutput() {
    jpeg.err = &errors_.manager;
    jpeg_create_compress(&jpeg);
  }
  ~JpegOutput() {
    jpeg_destroy_compress(&jpeg);
    std::free(memory_);
  }
  JpegOutput(const JpegOutput&) = delete;
  JpegOutput& operator=(const JpegOutput&) = delete;

  void write(std::span<const uint8_t> pixels, ImageSize size, int quality) {
    guard(jpeg, errors_, [&] {
      jpeg_mem_dest(&jpeg, &memory_, &bytes_);
      jpeg.image_width = static_cast<JDIMENSION>(size.width);
      jpeg.image_height = static_cast<JDIMENSION>(size.height);
      jpeg.input_components = 3;
      jpeg.in_color_space = JCS_RGB;
      jpeg_set_defaults(&jpeg);
      jpeg_set_quality(&jpeg, quality, TRUE);
      jpeg_start_compress(&jpeg, TRUE);
      while (jpeg.next_scanline < jpeg.image_height) {
        // libjpeg takes a pointer to mutable pixels, but only reads them.
        auto line = const_cast<JSAMPROW>(pixels.data() + size_t{3} * jpeg.image_width * jpeg.next_scanline);
        jpeg_write_scanlines(&jpeg, &line, 1);
      }
      jpeg_finish_compress(&jpeg);
    });
  }
  std::span<const uint8_t> bytes() const { return {memory_, bytes_}; }

 private:
  jpeg_compress_struct jpeg{};
  JpegErrors errors_;
  uint8_t* memory_ = nullptr;
  unsigned long bytes_ = 0;
};

}  // namespace

std::unique_ptr<ImageDecoder> open_jpeg(std::span<const uint8_t> file) { return std::make_unique<JpegDecoder>(file); }

int64_t decode_entropy(std::span<const uint8_t> file) {
  JpegInput input(file);
  input.guarded([&] { jpeg_read_coefficients(&input.jpeg); });
  return input.blocks();
}

Bytes encode_jpeg(std::span<const uint8_t> pixels, ImageSize size, int quality) {
  if (static_cast<int64_t>(pixels.size()) != 3 * size.width * size.height)
    throw std::logic_error(fmt::format("{} bytes for {}x{} pixels of 3", pixels.size(), size.width, size.height));
  JpegOutput output;
  output.write(pixels, size, quality);
  return {output.bytes().begin(), output.bytes().end()};
}

}  // namespace kb
