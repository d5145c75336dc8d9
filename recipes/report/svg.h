// Pictures: a writer of self-contained SVG, in the few shapes that charts are made of. Lengths are in pixels, y grows
// downwards.
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
    std::string dashes = "";  // "4 3"; empty: a whole line
  };
  struct Letters {
    double size = 12;
    std::string anchor = "start";  // "middle", "end"
    std::string color = "#333";
    bool bold = false;
    double turn = 0;  // degrees, clockwise
  };
  using Points = std::vector<std::pair<double, double>>;

  Svg(double width, double height);
  // `tip`: shown where the pointer rests; none where it is empty.
  void rect(double x, double y, double width, double height, const std::string& fill, const std::string& tip = "");
  void circle(double x, double y, double radius, const std::string& fill, const std::string& tip = "");
  void line(double x1, double y1, double x2, double y2, const Stroke& stroke);
  void lines(const Points& points, const Stroke& stroke);                     // from each to the next
  void area(const Points& corners, const std::string& fill, double opacity);  // opacity in [0, 1]
  void text(double x, double y, const std::string& text, const Letters& letters);
  // Boxes of one size and one colour, in little text; no tips.
  void boxes(const Points& corners, double width, double height, const std::string& fill);
  // All that is drawn until end_group() belongs together. `attributes`: as in `class="run"`.
  void begin_group(const std::string& attributes, const std::string& tip = "");
  void end_group() { text_ += "</g>\n"; }

  std::string str() const { return text_ + "</svg>\n"; }

 private:
  void closed(const std::string& shape, const std::string& fill, const std::string& tip);
  std::string text_;
};

// Ticks of an axis from 0 to at least `most` in steps of 1, 2 or 5 times a power of ten, some five of them.
std::vector<double> round_ticks(double most);

// Pixels that a text takes in a sans-serif font of `size` pixels, one of the wider ones.
double text_width(std::string_view text, double size);

// Returns the text as it may stand in XML and HTML: the four letters of their own escaped, and U+FFFD in place of every
// byte that is not UTF-8 and every character that XML has not.
std::string xml_text(std::string_view text);

}  // namespace kb
