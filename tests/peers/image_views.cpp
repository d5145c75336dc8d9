// image_views reads lines "SIDE LEFT TOP WIDTH HEIGHT FILE" and writes the crop of the image file at that box,
// resampled to SIDE x SIDE, as planes of bytes. A box of 0 0 0 0 stands for the view of evaluation.
// tests/peers/images.py compares the crops.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "data/images/open_image.h"
#include "data/images/view.h"

namespace {

kb::ImageView view_of(kb::ImageSize image, int64_t side, const kb::PixelBox& box) {
  if (box == kb::PixelBox{}) return kb::centre_view(image, side);
  return {box, {side, side}, 0, 0, side};
}

void write_view(const std::string& line) {
  std::istringstream words(line);
  int64_t side = 0;
  kb::PixelBox box;
  std::string path;
  words >> side >> box.left >> box.top >> box.width >> box.height >> std::ws;
  std::getline(words, path);
  std::ifstream stream(path, std::ios::binary);
  const kb::Bytes file{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const auto image = kb::open_image(file);
  std::vector<uint8_t> planes(static_cast<size_t>(3 * side * side));
  kb::Resampler resampler;
  kb::render(*image, view_of(image->size(), side, box), resampler, planes);
  std::fwrite(planes.data(), 1, planes.size(), stdout);
}

}  // namespace

int main() {
  try {
    for (std::string line; std::getline(std::cin, line);) write_view(line);
  } catch (const std::exception& error) {
    std::cerr << "image_views: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
