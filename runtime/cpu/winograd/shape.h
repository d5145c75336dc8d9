// A 3x3 convolution of stride 1, or the gradient of its input, which is one too: its source is the gradient of the
// output, and its padding is 2 minus that of the convolution.
#pragma once
#include <algorithm>
#include <vector>

#include "runtime/cpu/winograd/kernels.h"
#include "runtime/library_spec.h"

namespace kb::winograd {

// An image in blocks of 8 or 16 channels, or in one block of all, as ConvSpec describes it.
struct Image {
  int64_t channels, block, h, w;

  int64_t size() const { return channels * h * w; }
  int64_t blocks() const { return channels / kChannels; }
  ImageSteps steps() const {
    const int64_t half = block == 8 ? h * w * block : 8;
    return {w * block, block, half, block == 16 ? h * w * block : 2 * half};
  }
};

// The places of a tile: its first pixel in an image with one channel, which may lie before the source, and the part of
// it that exists.
struct TilePlaces {
  int64_t source_pixel, result_pixel;
  Tile source, result;
};

struct Shape {
  Image source, result;
  std::vector<TilePlaces> tiles;  // the tiles of one image

  explicit Shape(const ConvSpec& s)
      : source{s.c, s.block_in, s.h, s.w}, result{s.o, s.block_out, s.out_h(), s.out_w()} {
    int64_t padding[2] = {s.padding[0], s.padding[1]};
    if (s.kind == ConvKind::input_grad) {
      std::swap(source, result);
      for (int64_t& p : padding) p = 2 - p;
    }
    for (int64_t row = 0; row < result.h; row += 2) {
      for (int64_t column = 0; column < result.w; column += 2) {
        const int64_t r = row - padding[0], c = column - padding[1];
        tiles.push_back({r * source.w + c,
                         row * result.w + column,
                         {within(-r), within(source.h - r), within(-c), within(source.w - c)},
                         {0, std::min<int64_t>(2, result.h - row), 0, std::min<int64_t>(2, result.w - column)}});
      }
    }
  }
  int64_t tile_count() const { return std::ssize(tiles); }

  // Calls visit(i, image, places) for the i-th of `count` tiles from `first` on. Tiles of all images are numbered
  // through.
  template <class F>
  void each_tile(int64_t first, int64_t count, F visit) const {
    int64_t image = first / tile_count(), tile = first % tile_count();
    for (int64_t i = 0; i < count; ++i) {
      visit(i, image, tiles[static_cast<size_t>(tile)]);
      if (++tile == tile_count()) tile = 0, ++image;
    }
  }

 private:
  static int64_t within(int64_t pixel) { return std::clamp<int64_t>(pixel, 0, 4); }
};

}  // namespace kb::winograd
