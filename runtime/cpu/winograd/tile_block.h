// Some tiles whose terms are in scratch memory at once.
#pragma once
#include <algorithm>
#include <cstddef>

#include "runtime/cpu/winograd/shape.h"

namespace kb::winograd {

// Returns the floats from a term to the next: 12 lines of a cache more than a multiple of 4 KiB, so that the 16 terms
// of a tile fall into different sets of the nearest cache.
inline int64_t term_step(int64_t channels, int64_t tiles) {
  constexpr int64_t kPage = 4096 / sizeof(float), kLine = 64 / sizeof(float);
  return (channels * tiles + kPage - 1) / kPage * kPage + 12 * kLine;
}

inline size_t panel_bytes(int64_t channels, int64_t tiles) {
  return static_cast<size_t>(kTerms * term_step(channels, tiles)) * sizeof(float);
}

inline Panels panels(void* data, int64_t tiles, int64_t channels) {
  return {static_cast<float*>(data), tiles, term_step(channels, tiles)};
}

// Returns how many tiles are computed at once: so few that the terms of source and result stay near, but enough that
// the bytes of weights, which are read once for all of these tiles, are no more than twice those of the terms.
inline int64_t tiles_at_once(const Shape& shape, int64_t samples, int64_t shards) {
  constexpr int64_t kNearBytes = 256 * 1024, kLeast = 2 * kRows, kMost = 4 * kRows;
  const int64_t k = shape.source.channels, n = shape.result.channels, bytes = kTerms * (k + n) * 4;
  const int64_t tiles = std::max(std::clamp(kNearBytes / bytes, kLeast, kMost), k * n / (k + n) / 2);
  return std::min(tiles, (samples + shards - 1) / shards * shape.tile_count());
}

// Calls visit(first, count) for parts of at most `most` of `items`, whose sizes differ by one at most.
template <class F>
void each_part(int64_t items, int64_t most, F visit) {
  const int64_t parts = (items + most - 1) / most;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = items * part / parts;
    visit(first, items * (part + 1) / parts - first);
  }
}

// Writes the terms of the tiles from `first` on, as many as `terms` has items.
inline void write_source_terms(const Kernels& kernels, const Shape& shape, const float* source, int64_t first,
                               const Panels& terms) {
  const Image& image = shape.source;
  shape.each_tile(first, terms.items, [&](int64_t i, int64_t sample, const TilePlaces& tile) {
    kernels.source_terms(source + sample * image.size() + tile.source_pixel * image.block, image.steps(),
                         image.blocks(), tile.source, terms, i);
  });
}

// Asks for the inner 2x2 pixels of the tiles in part `part` of kTerms of `count` tiles from `first` on, which are read
// soon. The parts stand between the products, which leave memory idle.
inline void prefetch_source(const Shape& shape, const float* source, int64_t first, int64_t count, int64_t part) {
  const Image& image = shape.source;
  const ImageSteps steps = image.steps();
  const int64_t begin = count * part / kTerms, end = count * (part + 1) / kTerms;
  shape.each_tile(first + begin, end - begin, [&](int64_t, int64_t sample, const TilePlaces& tile) {
    const float* pixels = source + sample * image.size() + (tile.source_pixel + image.w + 1) * image.block;
    for (int64_t block = 0; block < image.blocks(); ++block, pixels += steps.block) {
      for (const int64_t half : {int64_t{0}, steps.half}) {
        __builtin_prefetch(pixels + half);
        __builtin_prefetch(pixels + half + steps.column);
        __builtin_prefetch(pixels + half + steps.row);
        __builtin_prefetch(pixels + half + steps.row + steps.column);
      }
    }
  });
}

}  // namespace kb::winograd
