#include "data/sets/glyphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <optional>
#include <vector>

#include "data/data_file.h"
#include "data/error.h"
#include "data/hash_random.h"
#include "data/parallel.h"
#include "data/whole_file.h"

namespace kb {
namespace {

struct Point {
  float x, y;
};

constexpr Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
constexpr Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
constexpr Point operator*(float s, Point a) { return {s * a.x, s * a.y}; }
constexpr float dot(Point a, Point b) { return a.x * b.x + a.y * b.y; }

/// Returns `value` limited to [0, high]. Compilers make vectors of these selections.
constexpr float limit(float value, float high) {
  value = value < 0 ? 0 : value;
  return value > high ? high : value;
}

// A glyph consists of a few cubic Bezier strokes in the square [-1, 1]^2, with y downwards. A straight stroke has its
// inner control points on the line. Some classes differ by one stroke or one corner, so that clutter and occlusion can
// make one look like the other.
struct Stroke {
  Point a, b, c, d;
};

constexpr Stroke line(float ax, float ay, float bx, float by) {
  const Point a{ax, ay}, b{bx, by}, third = (1.0f / 3) * (b - a);
  return {a, a + third, b - third, b};
}

constexpr int kMaxStrokes = 4;
constexpr float kRound = 0.5522848f;  // place of the control points of a quarter circle (error 0.03 %)

/// Returns a quarter of the ellipse around (cx, cy), from angle q to q + 1 in quarter turns (0 is right, 1 is down).
constexpr Stroke quarter(int q, float cx, float cy, float rx, float ry) {
  constexpr Point kAxis[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 0}};
  const Point from = kAxis[q], to = kAxis[q + 1], centre{cx, cy};
  const auto place = [&](Point p) { return centre + Point{rx * p.x, ry * p.y}; };
  return {place(from), place(from + kRound * to), place(to + kRound * from), place(to)};
}

struct Glyph {
  const char* name;
  int count;
  std::array<Stroke, kMaxStrokes> strokes;
};

constexpr std::array<Glyph, kGlyphClasses> kGlyphs = {{
    {"ring",
     4,
     {quarter(0, 0, 0, .7f, .9f), quarter(1, 0, 0, .7f, .9f), quarter(2, 0, 0, .7f, .9f), quarter(3, 0, 0, .7f, .9f)}},
    {"bowl", 3, {quarter(0, 0, .1f, .7f, .8f), quarter(1, 0, .1f, .7f, .8f), line(-.7f, .1f, -.65f, -.8f)}},
    {"box",
     4,
     {line(-.7f, -.8f, .7f, -.8f), line(.7f, -.8f, .7f, .8f), line(.7f, .8f, -.7f, .8f), line(-.7f, .8f, -.7f, -.8f)}},
    {"gate", 3, {line(-.7f, .8f, -.7f, -.8f), line(-.7f, -.8f, .7f, -.8f), line(.7f, -.8f, .7f, .8f)}},
    {"tent", 3, {line(-.8f, .8f, 0, -.9f), line(0, -.9f, .8f, .8f), line(.8f, .8f, -.8f, .8f)}},
    {"peak", 3, {line(-.8f, .8f, 0, -.9f), line(0, -.9f, .8f, .8f), line(-.4f, .1f, .4f, .1f)}},
    {"cross", 2, {line(-.8f, 0, .8f, 0), line(0, -.9f, 0, .9f)}},
    {"tee", 2, {line(-.8f, -.8f, .8f, -.8f), line(0, -.8f, 0, .9f)}},
    {"zed", 3, {line(-.7f, -.8f, .7f, -.8f), line(.7f, -.8f, -.7f, .8f), line(-.7f, .8f, .7f, .8f)}},
    {"seven", 3, {line(-.7f, -.8f, .7f, -.8f), line(.7f, -.8f, -.2f, .9f), line(-.3f, .05f, .5f, .05f)}},
}};

/// The map of one sample from the square [-1, 1]^2 to pixels: affine, then a smooth random bend.
class Distortion {
 public:
  explicit Distortion(HashStream& random) {
    // The angle is 2 atan(t), so sine and cosine need no C library: t in +-0.21 is +-24 degrees.
    const float t = random.uniform(-.21f, .21f), sine = 2 * t / (1 + t * t), cosine = (1 - t * t) / (1 + t * t);
    const float shear = random.uniform(-.3f, .3f);
    const float sx = kGlyphSide * random.uniform(.24f, .40f), sy = kGlyphSide * random.uniform(.26f, .42f);
    x_ = {sx * cosine, sx * (shear * cosine - sine)};
    y_ = {sy * sine, sy * (shear * sine + cosine)};
    shift_ = {kGlyphSide / 2.0f + random.uniform(-3, 3), kGlyphSide / 2.0f + random.uniform(-3, 3)};
    for (Point& bend : bends_) bend = {1.1f * random.bell(), 1.1f * random.bell()};
  }

  Point operator()(Point p) const { return Point{dot(x_, p), dot(y_, p)} + shift_ + bend(p); }

 private:
  static constexpr int kGrid = 3;

  /// Returns the displacement at p in pixels, interpolated bilinearly in a grid over [-1, 1]^2.
  Point bend(Point p) const {
    const float u = std::clamp(p.x + 1, 0.0f, 1.999f), v = std::clamp(p.y + 1, 0.0f, 1.999f);
    const int i = static_cast<int>(u), j = static_cast<int>(v);
    const Point* row = &bends_[j * kGrid + i];
    const float s = u - static_cast<float>(i), t = v - static_cast<float>(j);
    return (1 - t) * ((1 - s) * row[0] + s * row[1]) + t * ((1 - s) * row[kGrid] + s * row[kGrid + 1]);
  }

  Point x_, y_, shift_;
  std::array<Point, kGrid * kGrid> bends_;
};

/// The ink of one image, row by row, from 0 to 1. Strokes that overlap do not add: the greater one counts.
class Canvas {
 public:
  const float* row(int y) const { return &ink_[y * kStride]; }

  /// Draws a stroke with round ends: its ink falls from 1 to 0 over one pixel around the edge. Whole chunks of a row
  /// are computed; outside of the stroke the ink is 0.
  void segment(Point a, Point b, float half_width, float ink) {
    const float reach = half_width + .5f;
    const Point d = b - a;
    const float inverse = 1 / std::max(dot(d, d), 1e-6f);
    const auto [left, right] = pixels(std::min(a.x, b.x) - reach, std::max(a.x, b.x) + reach);
    const auto [top, bottom] = pixels(std::min(a.y, b.y) - reach, std::max(a.y, b.y) + reach);
    for (int y = top; y < bottom; ++y) {
      for (int x = left / kChunk * kChunk; x < right; x += kChunk) {
        float* pixel = &ink_[y * kStride + x];
        for (int i = 0; i < kChunk; ++i) {
          const Point p = Point{static_cast<float>(x + i) + .5f, static_cast<float>(y) + .5f} - a;
          const Point off = p - limit(dot(p, d) * inverse, 1) * d;
          pixel[i] = std::max(pixel[i], ink * limit(reach - std::sqrt(dot(off, off)), 1));
        }
      }
    }
  }

  void rectangle(Point low, Point high, float ink) {
    const auto [left, right] = pixels(low.x, high.x);
    const auto [top, bottom] = pixels(low.y, high.y);
    for (int y = top; y < bottom; ++y) std::fill_n(&ink_[y * kStride + left], std::max(0, right - left), ink);
  }

 private:
  static constexpr int kChunk = 8, kStride = (kGlyphSide + kChunk - 1) / kChunk * kChunk;

  /// Returns the pixels [first, last) that the interval touches.
  static std::pair<int, int> pixels(float low, float high) {
    constexpr float kSide = kGlyphSide;
    return {static_cast<int>(std::clamp(low, 0.0f, kSide - 1)), static_cast<int>(std::clamp(high + 1, 1.0f, kSide))};
  }

  std::array<float, kStride* kGlyphSide> ink_ = {};
};

void draw_stroke(Canvas& canvas, const Stroke& s, const Distortion& distort, float half_width, float ink) {
  constexpr int kPieces = 6;
  Point last = distort(s.a);
  for (int i = 1; i <= kPieces; ++i) {
    const float t = static_cast<float>(i) / kPieces, r = 1 - t;
    const Point next = distort(r * r * r * s.a + 3 * r * r * t * s.b + 3 * r * t * t * s.c + t * t * t * s.d);
    canvas.segment(last, next, half_width, ink);
    last = next;
  }
}

/// Draws strokes that belong to no glyph, on average a little fainter.
void draw_clutter(Canvas& canvas, HashStream& random, float half_width) {
  const int count = 1 + random.below(4);
  for (int i = 0; i < count; ++i) {
    const Point a{random.uniform(0, kGlyphSide), random.uniform(0, kGlyphSide)};
    const Point b = a + Point{random.uniform(-9, 9), random.uniform(-9, 9)};
    canvas.segment(a, b, half_width, random.uniform(.4f, 1));
  }
}

/// Draws a bar of one grey that hides what is under it, in seven of ten samples.
void occlude(Canvas& canvas, HashStream& random) {
  if (random.uniform() > .7f) return;
  const Point low{random.uniform(0, kGlyphSide - 4), random.uniform(0, kGlyphSide - 4)};
  const Point size{random.uniform(3, 11), random.uniform(3, 11)};
  canvas.rectangle(low, low + size, random.uniform(0, .6f));
}

/// Makes 8-bit pixels of the ink: adds paper, a gradient of light across the image, and noise.
void develop(Canvas& canvas, HashStream& random, float times, std::span<uint8_t> pixels) {
  const float paper = random.uniform(20, 90), contrast = random.uniform(50, 150), noise = times * random.uniform(8, 32);
  const Point light{random.uniform(-1.5f, 1.5f), random.uniform(-1.5f, 1.5f)};
  for (int y = 0; y < kGlyphSide; ++y) {
    std::array<float, kGlyphSide> grain;
    for (float& value : grain) value = random.bell();
    for (int x = 0; x < kGlyphSide; ++x) {
      const float lit = dot(light, {static_cast<float>(x - kGlyphSide / 2), static_cast<float>(y - kGlyphSide / 2)});
      const float gray = paper + lit + contrast * canvas.row(y)[x] + noise * grain[x];
      pixels[y * kGlyphSide + x] = static_cast<uint8_t>(static_cast<int>(limit(gray + .5f, 255)));
    }
  }
}

constexpr ImageShape kShape{1, kGlyphSide, kGlyphSide};
constexpr uint64_t kFirstTest = uint64_t{1} << 32;  // number of the first sample of the test part

// Draws the samples from `first` on that no other thread has taken from `next`.
void draw_range(const GlyphsSpec& spec, uint64_t first, std::span<uint8_t> pixels, std::atomic<int64_t>& next) {
  constexpr int64_t kBlock = 256;
  const int64_t size = kShape.size(), count = std::ssize(pixels) / size;
  for (int64_t begin = next.fetch_add(kBlock); begin < count; begin = next.fetch_add(kBlock))
    for (int64_t i = begin; i < std::min(begin + kBlock, count); ++i)
      draw_glyph(spec.seed, first + i, pixels.subspan(i * size, size), spec.noise);
}

void draw_part(const GlyphsSpec& spec, uint64_t first, std::span<uint8_t> pixels) {
  std::atomic<int64_t> next = 0;
  in_threads(static_cast<size_t>(spec.threads), [&](size_t) { draw_range(spec, first, pixels, next); });
}

// The pixels of the training and of the test part.
struct Pixels {
  Bytes train, test;
};

Pixels draw_all(const GlyphsSpec& spec) {
  Pixels pixels{Bytes(spec.train_count * kShape.size()), Bytes(spec.test_count * kShape.size())};
  draw_part(spec, 0, pixels.train);
  draw_part(spec, kFirstTest, pixels.test);
  return pixels;
}

Split part_of(Bytes pixels, uint64_t first) {
  Split split{kShape, std::move(pixels), {}};
  for (uint64_t i = 0; i < split.pixels.size() / kShape.size(); ++i)
    split.labels.push_back(static_cast<int32_t>((first + i) % kGlyphClasses));
  return split;
}

Dataset set_of(Pixels pixels) {
  std::vector<std::string> names;
  for (const Glyph& glyph : kGlyphs) names.emplace_back(glyph.name);
  return make_dataset("glyphs", std::move(names), part_of(std::move(pixels.train), 0),
                      part_of(std::move(pixels.test), kFirstTest));
}

// Returns the pixels that a file holds, those of the test part behind the others; nothing if it is absent or has
// another size.
std::optional<Pixels> kept_pixels(const std::filesystem::path& path, const GlyphsSpec& spec) {
  const size_t train = spec.train_count * kShape.size(), test = spec.test_count * kShape.size();
  try {
    const DataFile file(path);
    if (file.size() != train + test) return std::nullopt;
    return Pixels{file.read(0, train), file.read(train, test)};
  } catch (const DataError&) {
    return std::nullopt;
  }
}

void keep_pixels(const std::filesystem::path& path, const Dataset& set) {
  Bytes pixels = set.train.pixels;
  pixels.insert(pixels.end(), set.test.pixels.begin(), set.test.pixels.end());
  try {
    std::filesystem::create_directories(path.parent_path());
    write_whole_file(path, pixels);
  } catch (const std::exception&) {  // the next call draws them again
  }
}

void require_at_least(int64_t low, const char* what, int64_t value) {
  if (value >= low) return;
  throw DataError(
      {"glyphs", fmt::format("{} is out of range", what), fmt::format("at least {}", low), fmt::to_string(value), ""});
}

}  // namespace

void draw_glyph(uint64_t seed, uint64_t index, std::span<uint8_t> pixels, float noise) {
  HashStream random(hash_words(seed, index));
  const Glyph& glyph = kGlyphs[index % kGlyphClasses];
  const Distortion distort(random);
  const float half_width = random.uniform(.6f, 1.5f);
  Canvas canvas;
  for (int s = 0; s < glyph.count; ++s) draw_stroke(canvas, glyph.strokes[s], distort, half_width, 1);
  draw_clutter(canvas, random, half_width);
  occlude(canvas, random);
  develop(canvas, random, noise, pixels);
}

Dataset glyphs_dataset(const GlyphsSpec& spec) {
  require_at_least(1, "train_count", spec.train_count);
  require_at_least(1, "test_count", spec.test_count);
  require_at_least(1, "threads", spec.threads);
  return set_of(draw_all(spec));
}

Dataset kept_glyphs(const GlyphsSpec& spec, std::string_view fingerprint, const std::filesystem::path& cache) {
  if (cache.empty()) return glyphs_dataset(spec);
  const std::filesystem::path path = cache / fmt::format("glyphs-{}.pixels", fingerprint);
  if (std::optional<Pixels> pixels = kept_pixels(path, spec))
    if (Dataset set = set_of(std::move(*pixels)); set.fingerprint == fingerprint) return set;
  Dataset set = glyphs_dataset(spec);
  keep_pixels(path, set);
  return set;
}

}  // namespace kb
