// `glyphs`: ten classes of hand-like line drawings, 28 x 28 gray pixels, drawn from nothing: no download, and hard
// enough to study optimisation on (every sample is rotated, sheared, stretched, bent, cluttered, half hidden, faded and
// noisy, so some cannot be told apart). Only correctly rounded operations are used: equal bits on every machine.
#pragma once

#include <span>

#include "data/dataset.h"

namespace kb {

constexpr int kGlyphSide = 28;
constexpr int kGlyphClasses = 10;

struct GlyphsSpec {
  int64_t train_count = 20000, test_count = 4000;
  uint64_t seed = 1;
  float noise = 1;  ///< times the standard deviation of the noise on each pixel; more is harder
  int threads = 1;  ///< at most so many draw; the images do not depend on it
};

/// The two parts; test samples are those from 2^32 on. Throws DataError if a count is below 1.
Dataset glyphs_dataset(const GlyphsSpec& spec);

/// Draws sample `index`, a pure function of (seed, index, noise), into kGlyphSide^2 pixels; its class is index % 10.
void draw_glyph(uint64_t seed, uint64_t index, std::span<uint8_t> pixels, float noise = 1);

}  // namespace kb
