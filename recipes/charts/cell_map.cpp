#include "recipes/charts/cell_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "graph/error.h"
#include "recipes/report/curve_chart.h"
#include "recipes/report/svg.h"

namespace kb {
namespace {

constexpr double kMapWidth = 520, kMapHeight = 580, kMapLeft = 66, kMapTop = 88, kMapAcross = 440, kMapDown = 440;
constexpr double kPalest = 4;  // value from which on colours no longer change
constexpr double kMapLetters = 10.5;
constexpr const char* kDarkLetters = "#222222";

struct CellColor {
  std::array<double, 3> rgb;
  std::string text() const { return fmt::format("#{:02x}{:02x}{:02x}", part(0), part(1), part(2)); }
  // Returns a colour for letters that can be read on it.
  const char* letters() const { return 0.3 * rgb[0] + 0.6 * rgb[1] + 0.1 * rgb[2] < 140 ? "#ffffff" : kDarkLetters; }

 private:
  int part(size_t i) const { return static_cast<int>(std::lround(rgb[i])); }
};

CellColor color_of(double value) {
  constexpr std::array<std::array<double, 3>, 4> kStops = {
      {{8, 48, 107}, {33, 113, 181}, {107, 174, 214}, {222, 235, 247}}};
  const double place = std::clamp(std::log(value) / std::log(kPalest), 0.0, 1.0) * (kStops.size() - 1);
  const auto below = std::min(static_cast<size_t>(place), kStops.size() - 2);
  CellColor color{};
  for (size_t i = 0; i < 3; ++i)
    color.rgb[i] = kStops[below][i] + (place - static_cast<double>(below)) * (kStops[below + 1][i] - kStops[below][i]);
  return color;
}

// Returns the ends of the cells around places on a logarithmic axis: one more than there are places.
std::vector<double> cell_ends(const std::vector<double>& places) {
  constexpr double kAlone = 1.4142135623730951;  // half of a cell that has no neighbour, as a factor
  std::vector<double> ends(places.size() + 1);
  for (size_t i = 1; i < places.size(); ++i) ends[i] = std::sqrt(places[i - 1] * places[i]);
  ends.front() = places.size() > 1 ? places[0] * places[0] / ends[1] : places[0] / kAlone;
  ends.back() = places.size() > 1 ? places.back() * places.back() / ends[places.size() - 1] : places.back() * kAlone;
  return ends;
}

std::vector<double> rows_of(const MapColumn& column) {
  std::vector<double> rows;
  for (const MapCell& cell : column.cells) rows.push_back(cell.y);
  return rows;
}

class CellMap {
 public:
  explicit CellMap(const std::vector<MapColumn>& columns) : columns_(columns) {
    std::vector<double> places;
    CurveRange rows;
    for (const MapColumn& column : columns) {
      ensure(!column.cells.empty(), "cell_map: a column without cells");
      places.push_back(column.x);
      for (const double end : cell_ends(rows_of(column))) rows.take(end);
    }
    ends_ = cell_ends(places);
    axes_.x = {ends_.front(), ends_.back(), true, places};
    axes_.y = logarithmic_values(rows);
  }

  std::string str(const MapWords& words) {
    svg_.text(16, 24, words.title, {.size = 15, .bold = true});
    draw_scale(words);
    for (size_t i = 0; i < columns_.size(); ++i)
      draw_column(columns_[i], axes_.x_at(ends_[i]), axes_.x_at(ends_[i + 1]));
    axes_.draw(svg_, {words.x, words.y}, ChartTicks::beside);
    return svg_.str();
  }

 private:
  void draw_scale(const MapWords& words) {
    constexpr double kLegendLeft = 16, kScaleTop = 36, kKeysTop = 58;
    double x = kLegendLeft;
    for (const double value : {1.0, 1.5, 2.0, 3.0, kPalest}) {
      const CellColor color = color_of(value);
      x = draw_key(x, kScaleTop, fmt::format("{:g}{}", value, value == kPalest ? "+" : ""), color.text(),
                   color.letters());
    }
    draw_words(x, kScaleTop, words.value);
    x = kLegendLeft;
    for (const MapKey& key : words.keys)
      x = draw_words(draw_key(x, kKeysTop, key.mark, key.fill, kDarkLetters), kKeysTop, key.words);
  }

  double draw_key(double x, double top, const std::string& mark, const std::string& fill, const std::string& letters) {
    constexpr double kBox = 28;
    svg_.rect(x, top, kBox, 16, fill);
    svg_.text(x + kBox / 2, top + 12, mark, {.size = kMapLetters, .anchor = "middle", .color = letters});
    return x + kBox;
  }

  double draw_words(double x, double top, const std::string& words) {
    svg_.text(x + 7, top + 12, words, {});
    return x + 7 + text_width(words, 12) + 12;
  }

  void draw_column(const MapColumn& column, double left, double right) {
    const std::vector<double> ends = cell_ends(rows_of(column));
    for (size_t i = 0; i < column.cells.size(); ++i) {
      constexpr double kGap = 0.5;  // pixels to each side
      draw_cell(column.cells[i], left + kGap, right - kGap, axes_.y_at(ends[i + 1]) + kGap, axes_.y_at(ends[i]) - kGap);
    }
  }

  void draw_cell(const MapCell& cell, double left, double right, double top, double bottom) {
    const CellColor color = color_of(cell.value.value_or(1));
    svg_.rect(left, top, std::max(0.0, right - left), std::max(0.0, bottom - top),
              cell.value ? color.text() : cell.fill, cell.tip);
    if (text_width(cell.mark, kMapLetters) + 2 < right - left && kMapLetters + 1.5 < bottom - top)
      svg_.text((left + right) / 2, (top + bottom) / 2 + 4, cell.mark,
                {.size = kMapLetters, .anchor = "middle", .color = cell.value ? color.letters() : kDarkLetters});
    if (cell.is_outlined)
      svg_.lines({{left, top}, {right, top}, {right, bottom}, {left, bottom}, {left, top}},
                 {.color = "#e69f00", .width = 2.5});
  }

  const std::vector<MapColumn>& columns_;
  std::vector<double> ends_;  // ends of the columns
  ChartAxes axes_{{kMapLeft, kMapTop, kMapAcross, kMapDown}, {}, {}};
  Svg svg_{kMapWidth, kMapHeight};
};

}  // namespace

std::string cell_map(const MapWords& words, const std::vector<MapColumn>& columns) {
  ensure(!columns.empty(), "cell_map: no columns");
  return CellMap(columns).str(words);
}

}  // namespace kb
