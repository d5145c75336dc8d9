#include "recipes/charts/heat_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "recipes/report/shades.h"
#include "recipes/report/svg.h"

namespace kb {
namespace {

constexpr double kHeatWidth = 760, kHeatLeft = 200, kHeatTop = 8, kHeatBelow = 56, kHeatRow = 13;
constexpr size_t kShadeCount = 24;  // number of shades: cells of one shade are drawn together
constexpr const char* kHeatLetters = "#555";

class HeatPicture {
 public:
  HeatPicture(const std::vector<std::string>& rows, const std::vector<HeatColumn>& columns, size_t most_cells)
      : names_(rows) {
    for (size_t r = 0; r < rows.size(); ++r)
      if (std::ranges::any_of(columns, [&](const HeatColumn& column) { return DecadeScale::has(column.values[r]); }))
        rows_.push_back(r);
    if (rows_.empty()) return;
    const size_t most = std::min(columns.size(), std::max<size_t>(2, most_cells / rows_.size()));
    for (size_t i = 0; i < most; ++i)
      columns_.push_back(&columns[most == 1 ? 0 : i * (columns.size() - 1) / (most - 1)]);
    for (const HeatColumn* column : columns_)
      for (const size_t r : rows_) scale_.take(column->values[r]);
  }

  std::string str() const {
    if (rows_.empty()) return "";
    Svg svg(kHeatWidth, bottom() + kHeatBelow);
    for (size_t i = 0; i < rows_.size(); ++i)
      svg.text(kHeatLeft - 8, top(i) + kHeatRow - 3, shortened(names_[rows_[i]], kHeatLeft - 12, 11),
               {.size = 11, .anchor = "end", .color = kHeatLetters});
    draw_cells(svg);
    draw_axis(svg);
    draw_scale(svg);
    return svg.str();
  }

 private:
  double top(size_t row) const { return kHeatTop + kHeatRow * static_cast<double>(row); }
  double bottom() const { return top(rows_.size()); }

  void draw_cells(Svg& svg) const {
    std::vector<Svg::Points> shades(kShadeCount);
    const double width = (kHeatWidth - kHeatLeft - 12) / static_cast<double>(columns_.size());
    for (size_t c = 0; c < columns_.size(); ++c)
      for (size_t i = 0; i < rows_.size(); ++i) {
        const double value = columns_[c]->values[rows_[i]];
        if (!DecadeScale::has(value)) continue;
        const auto shade = static_cast<size_t>(scale_.share(value) * (kShadeCount - 1) + 0.5);
        shades[std::min(shade, kShadeCount - 1)].emplace_back(kHeatLeft + width * static_cast<double>(c), top(i));
      }
    for (size_t shade = 0; shade < kShadeCount; ++shade)
      if (!shades[shade].empty())
        svg.boxes(shades[shade], width + 0.2, kHeatRow + 0.2, shade_at(static_cast<double>(shade) / (kShadeCount - 1)));
  }

  void draw_axis(Svg& svg) const {
    const Svg::Letters small{.size = 11, .color = kHeatLetters};
    Svg::Letters end = small;
    end.anchor = "end";
    svg.text(kHeatLeft, bottom() + 14, fmt::format("step {}", columns_.front()->step), small);
    svg.text(kHeatWidth - 12, bottom() + 14, std::to_string(columns_.back()->step), end);
  }

  void draw_scale(Svg& svg) const {
    const double top = bottom() + 24, across = kHeatWidth - kHeatLeft - 12;
    const double width = across / static_cast<double>(kShadeCount);
    for (size_t i = 0; i < kShadeCount; ++i)
      svg.boxes({{kHeatLeft + width * static_cast<double>(i), top}}, width + 0.2, 10,
                shade_at(static_cast<double>(i) / (kShadeCount - 1)));
    for (const auto& [share, anchor] : {std::pair{0.0, "start"}, {0.5, "middle"}, {1.0, "end"}})
      svg.text(kHeatLeft + share * across, top + 24, fmt::format("{:.2g}", scale_.value(share)),
               {.size = 11, .anchor = anchor, .color = kHeatLetters});
  }

  const std::vector<std::string>& names_;  // names of all rows
  std::vector<size_t> rows_;               // indices of those that have cells
  std::vector<const HeatColumn*> columns_;
  DecadeScale scale_;
};

}  // namespace

std::string heat_map(const std::vector<std::string>& rows, const std::vector<HeatColumn>& columns, size_t most_cells) {
  return HeatPicture(rows, columns, most_cells).str();
}

}  // namespace kb
