#include "recipes/report/chart_axes.h"

#include <algorithm>
#include <cmath>

#include "recipes/report/count_text.h"

namespace kb {
namespace {

constexpr double kTickLetters = 12, kTickLength = 4;

// Draws the texts below the axis of x, each in the middle of its tick; those that would touch the text before are left
// out.
void draw_texts_below(Svg& svg, const ChartAxes& axes) {
  constexpr double kApart = 6, kToTexts = 17;
  const std::vector<std::string> texts = tick_texts(axes.x.ticks);
  double free_from = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const double at = axes.x_at(axes.x.ticks[i]), half = text_width(texts[i], kTickLetters) / 2;
    if (at - half < free_from) continue;
    svg.text(at, axes.box.bottom() + kToTexts, texts[i],
             {.size = kTickLetters, .anchor = "middle", .color = kQuietColor});
    free_from = at + half + kApart;
  }
}

void draw_texts_beside(Svg& svg, const ChartAxes& axes) {
  constexpr double kToTexts = 7;
  const std::vector<std::string> texts = tick_texts(axes.y.ticks);
  for (size_t i = 0; i < texts.size(); ++i)
    svg.text(axes.box.left - kToTexts, axes.y_at(axes.y.ticks[i]) + 4, texts[i],
             {.size = kTickLetters, .anchor = "end", .color = kQuietColor});
}

}  // namespace

double ValueAxis::part(double value) const {
  const double at =
      is_logarithmic ? std::log(std::max(value, low) / low) / std::log(high / low) : (value - low) / (high - low);
  return std::clamp(at, 0.0, 1.0);
}

void ChartAxes::draw(Svg& svg, const AxisTitles& titles, ChartTicks ticks) const {
  const bool is_through = ticks == ChartTicks::through;
  const Svg::Stroke stroke = is_through ? Svg::Stroke{.color = kGridColor} : Svg::Stroke{};
  for (const double tick : x.ticks)
    svg.line(x_at(tick), is_through ? box.top : box.bottom() + kTickLength, x_at(tick), box.bottom(), stroke);
  for (const double tick : y.ticks)
    svg.line(box.left, y_at(tick), is_through ? box.right() : box.left - kTickLength, y_at(tick), stroke);
  draw_texts_below(svg, *this);
  draw_texts_beside(svg, *this);
  svg.line(box.left, box.bottom(), box.right(), box.bottom(), {});
  svg.line(box.left, box.top, box.left, box.bottom(), {});
  if (!titles.x.empty())
    svg.text(box.left + box.across / 2, box.bottom() + 38, titles.x, {.size = 13, .anchor = "middle"});
  if (!titles.y.empty()) svg.text(16, box.top + box.down / 2, titles.y, {.size = 13, .anchor = "middle", .turn = -90});
}

}  // namespace kb
