// Pixels of some images in NHWC, in the order in which a reduction over pixels takes them: image after image, row after
// row. A row of the sequence may be longer than the image's; a pixel outside of its image is zero.
#pragma once
#include <algorithm>
#include <cstdint>

#include "runtime/cpu/amx/tiles.h"

namespace kb::amx {

struct Sequence {
  const uint16_t* images = nullptr;
  int64_t count = 0;                   // images
  int64_t h = 0, w = 0, channels = 0;  // extents of an image
  int64_t rows = 0, pitch = 0;         // rows of an image and pixels of a row in the sequence
  int64_t first[2] = {0, 0};           // row and column of the image at which the sequence begins
  int64_t step[2] = {1, 1};            // rows and columns of the image from one of the sequence to the next
  const uint16_t* zeros = nullptr;     // `channels` of them
};

// Walks along the pixels of a sequence. Those outside of an image and behind the end are `zeros`.
class Walk {
 public:
  explicit Walk(const Sequence& sequence) : s_(sequence) { begin_row(); }

  const uint16_t* next() {
    const int64_t column = s_.first[1] + column_ * s_.step[1];
    const uint16_t* pixel = line_ && column >= 0 && column < s_.w ? line_ + column * s_.channels : s_.zeros;
    if (++column_ == s_.pitch) {
      column_ = 0;
      if (++row_ == s_.rows) row_ = 0, ++image_;
      begin_row();
    }
    return pixel;
  }

 private:
  void begin_row() {
    const int64_t row = s_.first[0] + row_ * s_.step[0];
    const bool inside = image_ < s_.count && row >= 0 && row < s_.h;
    line_ = inside ? s_.images + (image_ * s_.h + row) * s_.w * s_.channels : nullptr;
  }

  Sequence s_;
  const uint16_t* line_ = nullptr;
  int64_t image_ = 0, row_ = 0, column_ = 0;
};

// Calls visit(first pixel, channel, pixels) for each 32 pixels of the first `length`, and each 16 channels.
template <class Visit>
void visit_blocks(const Sequence& sequence, int64_t length, Visit visit) {
  Walk walk(sequence);
  for (int64_t first = 0; first < length; first += kDepth) {
    const uint16_t* pixels[kDepth];
    for (auto& pixel : pixels) pixel = walk.next();
    for (int64_t channel = 0; channel < sequence.channels; channel += kSide) visit(first, channel, pixels);
  }
}

}  // namespace kb::amx
