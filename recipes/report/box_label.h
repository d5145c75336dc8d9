// Labels inside the boxes of a picture: they fit, or are left out.
#pragma once
#include <string>

namespace kb {

constexpr double kLabelSize = 10;  // pixels, of the letters

struct BoxLabel {
  std::string words;  // empty: nothing fits
  bool upright = false;
};

// Returns the longest of both names that fits into a box of these pixels, along it before upright.
BoxLabel box_label(const std::string& name, const std::string& shorter, double width, double height);

// `text`, or as much of it as takes no more than `width` pixels in letters of `size`, ended by "...".
std::string shortened(const std::string& text, double width, double size);

}  // namespace kb
