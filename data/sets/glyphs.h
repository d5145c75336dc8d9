// The data set `glyphs`: ten classes of drawn line figures, 28 x 28 grey pixels. It needs no download and is hard
// enough to study optimisation: every sample is rotated, sheared, stretched, bent, cluttered, partly hidden, faded and
// noisy, and some cannot be told apart. It uses correctly rounded operations alone, so that the bits are equal on every
// machine.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "data/dataset.h"

namespace kb {

constexpr int kGlyphSide = 28;
constexpr int kGlyphClasses = 10;

struct GlyphsSpec {
  int64_t train_count = 20000, test_count = 4000;
  uint64_t seed = 1;
  float noise = 1;  ///< factor of the standard deviation of each pixel's noise; more is harder
  int threads = 1;  ///< the most threads that draw; the images do not depend on it
};

/// Draws both parts; the test samples are numbered from 2^32 on. Throws DataError when a count is below 1.
Dataset glyphs_dataset(const GlyphsSpec& spec);

/// Returns the set of this fingerprint that `spec` draws. The pixels are kept in `cache`, a folder that is made if it
/// is missing, because drawing them was half of a short training's time. Without a cache, and if the file there is
/// absent, damaged or cannot be written, each call draws them.
Dataset kept_glyphs(const GlyphsSpec& spec, std::string_view fingerprint, const std::filesystem::path& cache);

/// Draws sample `index`, a function of (seed, index, noise), into kGlyphSide^2 pixels. Its class is index % 10.
void draw_glyph(uint64_t seed, uint64_t index, std::span<uint8_t> pixels, float noise = 1);

}  // namespace kb
