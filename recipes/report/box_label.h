// Labels inside the boxes of a picture. A label that does not fit is left out.
#pragma once
#include <string>

namespace kb {

constexpr double kLabelSize = 10;  // size of the letters in pixels

struct BoxLabel {
  std::string words;     // text of the label; empty if none fits
  bool upright = false;  // whether it is turned by 90 degrees
};

// Returns `name` if it fits into a box of these pixels, horizontally or else upright; otherwise `shorter` if that fits.
BoxLabel box_label(const std::string& name, const std::string& shorter, double width, double height);

// Returns `text`, or its beginning and "..." if it is wider than `width` pixels in letters of `size` pixels.
std::string shortened(const std::string& text, double width, double size);

}  // namespace kb
