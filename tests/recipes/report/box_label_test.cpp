// Labels of boxes: they fit, or are left out.

#include <boost/test/unit_test.hpp>

#include <sstream>

#include "recipes/report/picture.h"
#include "recipes/report/svg.h"

namespace kb::box_label_test {
namespace {

const std::string kName = "gradient of conv 3x3, weights  layer1.0.conv2", kShorter = "gradient of conv 3x3, weights";

// Returns a step whose boxes are 0.001 to 1 ms wide, each 1.2 times as wide as the one before.
Timeline many_widths() {
  Timeline timeline;
  double start = 0;
  for (double milliseconds = 0.001; milliseconds < 1; milliseconds *= 1.2) {
    Box box;
    box.id = "net." + std::to_string(timeline.boxes.size());
    box.start = start;
    box.milliseconds = milliseconds;
    box.name = kName;
    box.what = kShorter;
    box.kind = "library";
    timeline.boxes.push_back(box);
    start = timeline.milliseconds = box.end();
  }
  return timeline;
}

BOOST_AUTO_TEST_SUITE(box_label)

BOOST_AUTO_TEST_CASE(the_longest_name_that_fits_is_taken) {
  const double whole = text_width(kName, kLabelSize), part = text_width(kShorter, kLabelSize);
  BOOST_TEST(kb::box_label(kName, kShorter, whole + 10, 30).words == kName);
  BOOST_TEST(!kb::box_label(kName, kShorter, whole + 10, 300).upright);
  BOOST_TEST(kb::box_label(kName, kShorter, 20, whole + 10).words == kName);
  BOOST_TEST(kb::box_label(kName, kShorter, 20, whole + 10).upright);
  BOOST_TEST(kb::box_label(kName, kShorter, part + 10, 30).words == kShorter);
  BOOST_TEST(kb::box_label(kName, kShorter, part - 1, 30).words.empty());
  BOOST_TEST(kb::box_label(kName, kShorter, 5, 300).words.empty());
}

BOOST_AUTO_TEST_CASE(no_label_is_larger_than_its_box) {
  for (double width = 0; width < 400; width += 7)
    for (double height = 0; height < 400; height += 7) {
      const BoxLabel label = kb::box_label(kName, kShorter, width, height);
      if (label.words.empty()) continue;
      BOOST_TEST(text_width(label.words, kLabelSize) <= (label.upright ? height : width));
      BOOST_TEST(kLabelSize <= (label.upright ? width : height));
    }
}

// Reads labels as they stand in the file, each after its box.
BOOST_AUTO_TEST_CASE(labels_of_a_picture_lie_in_their_boxes) {
  std::istringstream lines(picture_svg(many_widths()));
  double left = 0, top = 0, width = 0, height = 0;
  int labels = 0, boxes = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("<title>net.") != std::string::npos) {
      BOOST_TEST(std::sscanf(line.c_str(), R"(<rect x="%lf" y="%lf" width="%lf" height="%lf")", &left, &top, &width,
                             &height) == 4);
      ++boxes;
    }
    const size_t at = line.find("class=\"l\">");
    if (at == std::string::npos) continue;
    ++labels;
    const std::string words = line.substr(at + 10, line.find("</text>") - at - 10);
    double x = 0, y = 0;
    const double length = text_width(words, kLabelSize);
    if (std::sscanf(line.c_str(), R"(<text transform="translate(%lf %lf)", &x, &y) == 2) {
      BOOST_TEST((x - kLabelSize >= left - 3 && x <= left + width), line);
      BOOST_TEST((y <= top + height && y - length >= top), line);
    } else {
      BOOST_TEST(std::sscanf(line.c_str(), R"(<text x="%lf" y="%lf")", &x, &y) == 2, line);
      BOOST_TEST((x >= left && x + length <= left + width), line);
    }
  }
  BOOST_TEST(labels > 3);
  BOOST_TEST(labels < boxes);  // narrow boxes have no label
}

BOOST_AUTO_TEST_CASE(long_texts_end_in_dots) {
  BOOST_TEST(shortened("short", 100, 12) == "short");
  const std::string cut = shortened("a long text that has no room here", 80, 12);
  BOOST_TEST(cut.ends_with("..."));
  BOOST_TEST(text_width(cut, 12) <= 80);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace kb::box_label_test
