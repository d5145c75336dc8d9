// A writer of self-contained SVG pictures with the shapes that charts need. Lengths are in pixels, y grows downwards.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kb {

class Svg {
 public:
  struct Stroke {
    std::string color = "#333";
    double width = 1;
    std::string dashes = "";  // lengths of dashes and gaps, "4 3"; empty for a solid line
  };
  struct Letters {
    double size = 12;              // font size in pixels
    std::string anchor = "start";  // or "middle" or "end": the point of the text that is placed
    std::string color = "#333";
    bool bold = false;
    double turn = 0;  // degrees, clockwise
  };
  using Points = std::vector<std::pair<double, double>>;

  Svg(double width, double height);
  // `tip` is a tooltip; there is none if it is empty.
  void rect(double x, double y, double width, double height, const std::string& fill, const std::string& tip = "");
  void circle(double x, double y, double radius, const std::string& fill, const std::string& tip = "");
  void line(double x1, double y1, double x2, double y2, const Stroke& stroke);
  void lines(const Points& points, const Stroke& stroke);                     // joins each point to the next
  void area(const Points& corners, const std::string& fill, double opacity);  // a filled polygon; opacity in [0, 1]
  void text(double x, double y, const std::string& text, const Letters& letters);
  // Draws many boxes of one size and one colour as one short element, without tooltips.
  void boxes(const Points& corners, double width, double height, const std::string& fill);
  // Begins a group of all that is drawn until end_group(). `attributes` are its SVG attributes, such as `class="run"`.
  void begin_group(const std::string& attributes, const std::string& tip = "");
  void end_group() { text_ += "</g>\n"; }

  std::string str() const { return text_ + "</svg>\n"; }

 private:
  void closed(const std::string& shape, const std::string& fill, const std::string& tip);
  std::string text_;
};

// Returns about five ticks of an axis from 0 to at least `most`, in steps of 1, 2 or 5 times a power of ten.
std::vector<double> round_ticks(double most);

// Returns the width in pixels of a text in a rather wide sans-serif font of `size` pixels.
double text_width(std::string_view text, double size);

// Returns the text for use in XML and HTML: &, <, > and " are escaped; U+FFFD replaces every byte that is not UTF-8 and
// every character that XML does not allow.
std::string xml_text(std::string_view text);

constexpr double kLabelSize = 10;  // size of the letters of a label inside a box, in pixels

struct BoxLabel {
  std::string words;     // text of the label; empty if none fits
  bool upright = false;  // whether it is turned by 90 degrees
};

// Returns `name` if it fits into a box of these pixels, horizontally or else upright; otherwise `shorter` if that fits.
BoxLabel box_label(const std::string& name, const std::string& shorter, double width, double height);

// Returns `text`, or its beginning and "..." if it is wider than `width` pixels in letters of `size` pixels.
std::string shortened(const std::string& text, double width, double size);

}  // namespace kb
