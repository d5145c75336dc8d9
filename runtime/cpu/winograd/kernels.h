// The arithmetic of Winograd convolutions, F(2x2, 3x3) of Lavin and Gray 2016 (section 4.1), in the instruction sets
// that have it. A tile is 4x4 pixels of the source, or the 2x2 pixels of the result that are computed from them;
// both become 16 terms. Channels come in blocks of 16, and all that is in scratch memory lies in panels
// [term][block of channels][item][16 channels], in which an item is a tile, or an input channel of the weights.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace kb::winograd {

constexpr int64_t kChannels = 16;  // channels of a block
constexpr int64_t kTerms = 16;     // terms of a tile
constexpr int kRows = 14;          // most rows of sums of one product, in any instruction set

// One term of many items. Steps are in floats.
struct Panels {
  float* data = nullptr;
  int64_t items = 0;
  int64_t term_step = 0;
  int64_t block_step() const { return items * kChannels; }
};

// A tile of an image: from the first of its pixels, those in rows [row_begin, row_end) and columns [column_begin,
// column_end) are in the image. Others of the source are zeros, and others of the result do not exist.
struct Tile {
  int64_t row_begin, row_end, column_begin, column_end;
};

// The steps of an image in memory, in floats: to the next row, column, 8 channels and 16 channels.
struct ImageSteps {
  int64_t row = 0, column = 0, half = 0, block = 0;
};

// The product of two panels, sums[row][16 columns of one or two blocks] += left[row][i] * right[i][columns].
struct Product {
  const float *left = nullptr, *right = nullptr;
  float* sums = nullptr;
  int64_t blocks = 1, count = 0;                           // i goes through `blocks` times `count` items
  int64_t left_step = 0, right_block = 0, sums_block = 0;  // from a block of `left`, `right` and `sums` to the next
  bool adds = false;                                       // false: the sums begin at 0
};

struct Kernels {
  const char* isa;  // a value of Target::isa
  int64_t lanes;    // channels that have to be adjacent in an image
  // Writes the terms of one tile of a source of `blocks` blocks as item `item`: B^T d B.
  void (*source_terms)(const float* first, const ImageSteps& steps, int64_t blocks, const Tile& tile,
                       const Panels& terms, int64_t item);
  // Writes the terms of one tile of the gradient of a result: A y A^T.
  void (*gradient_terms)(const float* first, const ImageSteps& steps, int64_t blocks, const Tile& tile,
                         const Panels& terms, int64_t item);
  // Writes one tile of the result, A^T m A + bias.
  void (*result_of_terms)(const Panels& terms, int64_t item, int64_t blocks, const float* bias, const Tile& tile,
                          const ImageSteps& steps, float* first);
  // Products for 1 to `rows` rows and 1 to `blocks` blocks of columns, as many as the registers hold sums for. With
  // tiles as rows, left[row] has 16 channels of a tile, and i goes through them and then to the next block. With
  // channels as rows, i goes through tiles.
  using Multiply = void (*)(const Product&);
  int rows, blocks;
  Multiply of_tiles[kRows][2], of_channels[kRows][2];
};

// Returns the kernels that this processor can run, the fastest first.
const std::vector<Kernels>& kernels();
// Returns those in the instruction set `isa`; null where there are none.
const Kernels* kernels_of(std::string_view isa);

}  // namespace kb::winograd
