#include "recipes/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/utf8.h"

namespace kb {
namespace {

std::string stroke_text(const Svg::Stroke& stroke) {
  return fmt::format(R"(stroke="{}" stroke-width="{:g}"{})", stroke.color, stroke.width,
                     stroke.dashes.empty() ? "" : fmt::format(R"( stroke-dasharray="{}")", stroke.dashes));
}

std::string places_of(const Svg::Points& points) {
  std::string places;
  for (const auto& [x, y] : points) places += fmt::format("{}{:.2f},{:.2f}", places.empty() ? "" : " ", x, y);
  return places;
}

constexpr double kFreeAlong = 6, kFreeAcross = 3;  // pixels that stay free along a label and across it

bool fits(const std::string& words, double along, double across) {
  return text_width(words, kLabelSize) + kFreeAlong <= along && kLabelSize + kFreeAcross <= across;
}

}  // namespace

std::vector<double> round_ticks(double most) {
  constexpr double kTicks = 5;
  const double decade = std::pow(10, std::floor(std::log10(std::max(most, 1e-9) / kTicks)));
  double step = 10 * decade;
  for (const double factor : {5, 2, 1})
    if (factor * decade * kTicks >= most) step = factor * decade;
  std::vector<double> ticks = {0};
  while (ticks.back() < most * (1 - 1e-9)) ticks.push_back(static_cast<double>(ticks.size()) * step);
  if (ticks.size() == 1) ticks.push_back(step);
  return ticks;
}

// The widths are those of DejaVu Sans, as parts of the font size.
double text_width(std::string_view text, double size) {
  constexpr std::string_view kNarrow = "ijl|'", kSlim = " ftr.,:;!()[]I-/J", kWide = "mwMW@%+=<>#&";
  double width = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;  // a byte that continues a character of UTF-8
    const auto is_in = [&](std::string_view letters) { return letters.find(c) != std::string_view::npos; };
    const bool plain = static_cast<unsigned char>(c) < 0x80;
    width += !plain                 ? 1
             : is_in(kNarrow)       ? 0.3
             : is_in(kSlim)         ? 0.41
             : is_in(kWide)         ? 0.97
             : 'A' <= c && c <= 'Z' ? 0.73
                                    : 0.635;
  }
  return width * size;
}

namespace {

// Returns whether XML 1.0 allows the character: no control characters except tab, line feed and carriage return, and
// neither U+FFFE nor U+FFFF.
bool is_xml(std::string_view character) {
  const bool is_control = character.size() == 1 && static_cast<unsigned char>(character.front()) < ' ';
  if (is_control) return character == "\t" || character == "\n" || character == "\r";
  return character != "\xef\xbf\xbe" && character != "\xef\xbf\xbf";
}

std::string_view xml_character(std::string_view character) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
  if (character == "&") return "&amp;";
  if (character == "<") return "&lt;";
  if (character == ">") return "&gt;";
  if (character == "\"") return "&quot;";
  return is_xml(character) ? character : kReplacement;
}

}  // namespace

std::string xml_text(std::string_view text) {
  constexpr std::string_view kNoCharacter("\0", 1);
  std::string result;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    result += xml_character(length > 0 ? text.substr(0, length) : kNoCharacter);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

Svg::Svg(double width, double height)
    : text_(fmt::format(
          R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:g}" height="{1:g}" viewBox="0 0 {0:g} {1:g}" )"
          R"(font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif">)"
          "\n",
          width, height)) {
  rect(0, 0, width, height, "#fff");
}

void Svg::closed(const std::string& shape, const std::string& fill, const std::string& tip) {
  text_ += fmt::format(R"(<{} fill="{}")", shape, fill);
  const std::string name = shape.substr(0, shape.find(' '));
  text_ += tip.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", xml_text(tip), name);
}

void Svg::rect(double x, double y, double width, double height, const std::string& fill, const std::string& tip) {
  closed(fmt::format(R"(rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}")", x, y, width, height), fill, tip);
}

void Svg::circle(double x, double y, double radius, const std::string& fill, const std::string& tip) {
  closed(fmt::format(R"(circle cx="{:.2f}" cy="{:.2f}" r="{:g}")", x, y, radius), fill, tip);
}

void Svg::line(double x1, double y1, double x2, double y2, const Stroke& stroke) {
  text_ += fmt::format(R"(<line x1="{:.2f}" y1="{:.2f}" x2="{:.2f}" y2="{:.2f}" {}/>)"
                       "\n",
                       x1, y1, x2, y2, stroke_text(stroke));
}

void Svg::area(const Points& corners, const std::string& fill, double opacity) {
  closed(fmt::format(R"(polygon points="{}" fill-opacity="{:g}")", places_of(corners), opacity), fill, "");
}

void Svg::lines(const Points& points, const Stroke& stroke) {
  text_ += fmt::format(R"(<polyline fill="none" points="{}" {}/>)"
                       "\n",
                       places_of(points), stroke_text(stroke));
}

void Svg::boxes(const Points& corners, double width, double height, const std::string& fill) {
  std::string path;
  for (const auto& [x, y] : corners)
    path += fmt::format("M{:.4g} {:.4g}h{:.4g}v{:.4g}h-{:.4g}z", x, y, width, height, width);
  text_ += fmt::format(R"(<path fill="{}" d="{}"/>)"
                       "\n",
                       fill, path);
}

void Svg::begin_group(const std::string& attributes, const std::string& tip) {
  text_ += fmt::format("<g {}>{}\n", attributes, tip.empty() ? "" : fmt::format("<title>{}</title>", xml_text(tip)));
}

void Svg::text(double x, double y, const std::string& text, const Letters& letters) {
  const std::string turn =
      letters.turn == 0 ? "" : fmt::format(R"x( transform="rotate({:g} {:.2f} {:.2f})")x", letters.turn, x, y);
  text_ += fmt::format(R"(<text x="{:.2f}" y="{:.2f}" font-size="{:g}" text-anchor="{}" fill="{}"{}{}>{}</text>)"
                       "\n",
                       x, y, letters.size, letters.anchor, letters.color, letters.bold ? R"( font-weight="bold")" : "",
                       turn, xml_text(text));
}

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
