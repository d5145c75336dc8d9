#include "recipes/report/box_label.h"

#include "recipes/report/svg.h"

namespace kb {
namespace {

constexpr double kFreeAlong = 6, kFreeAcross = 3;  // pixels that stay free along a label and across it

bool fits(const std::string& words, double along, double across) {
  return text_width(words, kLabelSize) + kFreeAlong <= along && kLabelSize + kFreeAcross <= across;
}

}  // namespace

BoxLabel box_label(const std::string& name, const std::string& shorter, double width, double height) {
  for (const std::string& words : {name, shorter}) {
    if (words.empty()) continue;
    if (fits(words, width, height)) return {words, false};
    if (fits(words, height, width)) return {words, true};
  }
  return {};
}

std::string shortened(const std::string& text, double width, double size) {
  if (text_width(text, size) <= width) return text;
  std::string part = text;
  while (!part.empty() && text_width(part + "...", size) > width) {
    while (part.size() > 1 && (static_cast<unsigned char>(part.back()) & 0xC0) == 0x80) part.pop_back();
    part.pop_back();
  }
  return part + "...";
}

}  // namespace kb
