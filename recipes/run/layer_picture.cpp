// Draws the heat maps of --log-layers.
#include <fmt/format.h>

#include <algorithm>

#include "recipes/report/shades.h"
#include "recipes/report/svg.h"
#include "recipes/train/layer_log.h"

namespace kb {
namespace {

constexpr double kMapsLeft = 250, kMapsTop = 100, kMapWidth = 300, kMapsGap = 60, kMapsBelow = 60;
constexpr size_t kMostColumns = 150, kMostLabels = 80;
constexpr const char* kGrey = "#555";

struct Map {
  const char* title;
  std::vector<double> LayerNorms::*values;
};

// Returns as many of the steps as fit, evenly chosen.
std::vector<const LayerNorms*> columns_of(std::span<const LayerNorms> norms) {
  std::vector<const LayerNorms*> columns;
  const size_t count = std::min(norms.size(), kMostColumns);
  for (size_t i = 0; i < count; ++i) columns.push_back(&norms[count == 1 ? 0 : i * (norms.size() - 1) / (count - 1)]);
  return columns;
}

class LayerPicture {
 public:
  LayerPicture(std::span<const LoggedLayer> layers, std::span<const LayerNorms> norms)
      : layers_(layers),
        columns_(columns_of(norms)),
        row_(std::clamp(900.0 / static_cast<double>(layers.size()), 5.0, 16.0)),
        bottom_(kMapsTop + row_ * static_cast<double>(layers.size())) {
    maps_ = {{"norm of the weights, |w|", &LayerNorms::weight}, {"norm of the gradient, |g|", &LayerNorms::gradient}};
    if (!norms[0].trust.empty()) maps_.push_back({"trust: times the learning rate", &LayerNorms::trust});
  }

  std::string str(const std::string& title) {
    Svg svg(kMapsLeft + static_cast<double>(maps_.size()) * (kMapWidth + kMapsGap), bottom_ + kMapsBelow);
    svg.text(24, 30, title, {.size = 17, .bold = true});
    svg.text(24, 50, "layers from the first (top) to the last, over steps; colours are logarithmic", {.color = kGrey});
    label_rows(svg);
    for (size_t i = 0; i < maps_.size(); ++i)
      draw(svg, maps_[i], kMapsLeft + static_cast<double>(i) * (kMapWidth + kMapsGap));
    return svg.str();
  }

 private:
  void label_rows(Svg& svg) const {
    const size_t every = (layers_.size() + kMostLabels - 1) / kMostLabels;
    for (size_t i = 0; i < layers_.size(); i += every)
      svg.text(kMapsLeft - 8, y(i) + row_ / 2 + 3.5, layers_[i].name,
               {.size = std::clamp(row_ * static_cast<double>(every) - 1, 6.0, 11.0), .anchor = "end", .color = kGrey});
  }

  double y(size_t layer) const { return kMapsTop + row_ * static_cast<double>(layer); }

  void draw(Svg& svg, const Map& map, double left) const {
    svg.text(left, kMapsTop - 10, map.title, {.size = 13, .bold = true});
    DecadeScale scale;
    for (const LayerNorms* column : columns_)
      for (const double value : column->*map.values) scale.take(value);
    const double width = kMapWidth / static_cast<double>(columns_.size());
    for (size_t c = 0; c < columns_.size(); ++c)
      for (size_t l = 0; l < layers_.size(); ++l) {
        const double value = (columns_[c]->*map.values)[l];
        if (!DecadeScale::has(value)) continue;
        svg.rect(left + width * static_cast<double>(c), y(l), width + 0.2, row_ + 0.2, shade_at(scale.share(value)),
                 fmt::format("{}, step {}: {:.3g}", layers_[l].name, columns_[c]->step, value));
      }
    label_steps(svg, left);
    draw_scale(svg, scale, left);
  }

  void label_steps(Svg& svg, double left) const {
    const Svg::Letters small{.size = 11, .color = kGrey};
    Svg::Letters end = small;
    end.anchor = "end";
    svg.text(left, bottom_ + 14, fmt::format("step {}", columns_.front()->step), small);
    svg.text(left + kMapWidth, bottom_ + 14, std::to_string(columns_.back()->step), end);
  }

  void draw_scale(Svg& svg, const DecadeScale& scale, double left) const {
    if (scale.is_empty()) return;  // there is no value to show
    constexpr int kBoxes = 60;
    const double top = bottom_ + 24, width = kMapWidth / kBoxes;
    for (int i = 0; i < kBoxes; ++i) svg.rect(left + width * i, top, width + 0.2, 10, shade_at((i + 0.5) / kBoxes));
    for (const auto& [share, anchor] : {std::pair{0.0, "start"}, {0.5, "middle"}, {1.0, "end"}})
      svg.text(left + share * kMapWidth, top + 24, fmt::format("{:.2g}", scale.value(share)),
               {.size = 11, .anchor = anchor, .color = kGrey});
  }

  std::span<const LoggedLayer> layers_;
  std::vector<const LayerNorms*> columns_;
  double row_, bottom_;
  std::vector<Map> maps_;
};

}  // namespace

std::string layer_picture(const std::string& title, std::span<const LoggedLayer> layers,
                          std::span<const LayerNorms> norms) {
  ensure(!layers.empty() && !norms.empty(), "layer_picture: at least one layer and one step");
  return LayerPicture(layers, norms).str(title);
}

}  // namespace kb
