#include "data/images/pnm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace kb {
namespace {

constexpr int64_t kMostPnmSide = 65500;  // the limit that libjpeg has

class PnmDecoder : public ImageDecoder {
 public:
  explicit PnmDecoder(std::span<const uint8_t> file) : file_(file), at_(2) {
    is_gray_ = file[1] == '5';
    size_.width = number("width", kMostPnmSide);
    size_.height = number("height", kMostPnmSide);
    if (const int64_t most = number("largest value", 65535); most != 255)
      throw UnreadableImage(
          fmt::format("a PNM file with values up to {}; up to 255, 8 bits a channel, are read", most));
    ++at_;
  }

  void decode(const PixelBox& box, const RowSink& row) override {
    check_length();
    std::vector<uint8_t> line(4 * static_cast<size_t>(box.width));
    for (int64_t y = box.top; y < box.top + box.height; ++y) {
      const uint8_t* from = file_.data() + at_ + channels() * static_cast<size_t>(y * size_.width + box.left);
      for (size_t x = 0; x < static_cast<size_t>(box.width); ++x)
        for (size_t c = 0; c < 3; ++c) line[4 * x + c] = from[channels() * x + (is_gray_ ? 0 : c)];
      row(line.data());
    }
  }

 private:
  size_t channels() const { return is_gray_ ? 1 : 3; }

  // Returns the next byte; 0 at the end.
  uint8_t peek() const { return at_ < file_.size() ? file_[at_] : 0; }

  // Returns the next number of the header, after white space and comments.
  int64_t number(const char* what, int64_t most) {
    for (; std::isspace(peek()) != 0 || peek() == '#'; ++at_)
      if (peek() == '#')
        while (at_ < file_.size() && file_[at_] != '\n') ++at_;
    int64_t value = 0;
    for (; std::isdigit(peek()) != 0 && value <= most; ++at_) value = 10 * value + (peek() - '0');
    if (value < 1 || value > most)
      throw UnreadableImage(fmt::format("a PNM file whose {} is no number from 1 to {}", what, most));
    return value;
  }

  void check_length() const {
    const size_t there = file_.size() - std::min(at_, file_.size());
    const size_t expected = channels() * static_cast<size_t>(size_.width * size_.height);
    if (there != expected)
      throw UnreadableImage(fmt::format("a PNM file that {}: {} bytes of pixels, expected {}",
                                        there < expected ? "is cut short" : "goes on behind its pixels", there,
                                        expected));
  }

  std::span<const uint8_t> file_;
  size_t at_;  // number of bytes read
};

}  // namespace

std::unique_ptr<ImageDecoder> open_pnm(std::span<const uint8_t> file) { return std::make_unique<PnmDecoder>(file); }

}  // namespace kb
