// Draws discs, squares and triangles of random colour, place and size on a noisy ground, as DIR/train/CLASS/*.ppm and
// DIR/test/CLASS/*.ppm of 24x24 pixels: images to try the tutorial with.
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace {

constexpr int kSize = 24;
constexpr std::array<const char*, 3> kClasses = {"disc", "square", "triangle"};

bool covers(size_t shape, double x, double y) {  // true if the shape, of radius 1 around the origin, covers (x, y)
  if (shape == 0) return x * x + y * y < 1;
  if (shape == 1) return std::max(std::abs(x), std::abs(y)) < 0.9;
  return y < 0.8 && y > 2.2 * std::abs(x) - 1;
}

std::string draw(size_t shape, std::mt19937& random) {
  auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / std::mt19937::max();
  };
  const double radius = between(5, 9), cx = between(radius, kSize - radius), cy = between(radius, kSize - radius);
  std::array<double, 3> ground, colour;
  for (size_t c = 0; c < 3; ++c) ground[c] = between(0, 110), colour[c] = between(140, 235);
  std::string pixels;
  for (int y = 0; y < kSize; ++y)
    for (int x = 0; x < kSize; ++x) {
      const bool inside = covers(shape, (x + 0.5 - cx) / radius, (y + 0.5 - cy) / radius);
      for (size_t c = 0; c < 3; ++c)
        pixels += static_cast<char>(static_cast<unsigned char>((inside ? colour : ground)[c] + between(0, 20)));
    }
  return pixels;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: draw_images DIR\n"), 2;
  std::mt19937 random(1);
  for (const auto& [part, count] : {std::pair{"train", 200}, {"test", 50}})
    for (size_t shape = 0; shape < kClasses.size(); ++shape) {
      const std::filesystem::path folder = std::filesystem::path(argv[1]) / part / kClasses[shape];
      std::error_code error;
      if (std::filesystem::create_directories(folder, error); error)
        return std::fprintf(stderr, "%s: %s\n", folder.c_str(), error.message().c_str()), 1;
      for (int i = 0; i < count; ++i) {
        std::ofstream file(folder / (std::to_string(1000 + i) + ".ppm"), std::ios::binary);
        file << "P6\n" << kSize << " " << kSize << "\n255\n" << draw(shape, random);
        if (!file.flush()) return std::perror(folder.c_str()), 1;
      }
    }
  return 0;
}
