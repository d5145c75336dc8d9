// image_draws prints what training draws for the samples of an epoch, for image_draws.py to compare with torchvision:
// `image_draws boxes WIDTH HEIGHT COUNT`, a line "left top width height" each, or `image_draws colours LIGHTING COUNT`,
// the nine entries of the matrix and the three shifts of an image whose mean colour is 120 100 80, jittered, or with
// LIGHTING 1 changed by that alone.
#include <cstdio>
#include <string>

#include "data/images/colour.h"
#include "data/images/view.h"

namespace {

void print_boxes(kb::ImageSize image, int64_t count) {
  for (int64_t sample = 0; sample < count; ++sample) {
    const kb::PixelBox box = kb::random_view(image, 224, 1, 0, sample).box;
    std::printf("%ld %ld %ld %ld\n", box.left, box.top, box.width, box.height);
  }
}

void print_colours(bool lighting, int64_t count) {
  for (int64_t sample = 0; sample < count; ++sample) {
    const kb::ColourChange change = kb::draw_colour_change(!lighting, lighting, {120, 100, 80}, 1, 0, sample);
    for (const int32_t entry : change.matrix) std::printf("%.6f ", entry / 65536.0);
    for (const int32_t entry : change.shift) std::printf("%.6f ", entry / 65536.0);
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (what == "boxes" && count == 5)
    print_boxes({std::atol(words[2]), std::atol(words[3])}, std::atol(words[4]));
  else if (what == "colours" && count == 4)
    print_colours(std::atol(words[2]) != 0, std::atol(words[3]));
  else
    return std::fprintf(stderr, "usage: image_draws boxes WIDTH HEIGHT COUNT | colours LIGHTING COUNT\n"), 2;
  return 0;
}
