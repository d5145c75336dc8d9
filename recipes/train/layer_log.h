// Norms and histograms of every layer during a run (judging.log_layers), and a picture of the norms.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "compiler/passes/passes.h"
#include "recipes/train/metrics.h"

namespace kb {

constexpr const char* kLayerPicture = "layers.svg";  // file of the run folder

// A parameter tensor of the model. Lines of metrics.jsonl list these tensors in the order of the model, from its input
// to its output.
struct LoggedLayer {
  std::string name;
  bool is_adapted = true;  // false if an optimizer's layer-wise rates do not apply to it
};
std::vector<LoggedLayer> logged_layers(const ParameterSpace& space);

// Returns the histogram of `count` values of dtype f32 or f64.
Histogram histogram_of(DType dtype, const std::byte* values, int64_t count);

// Reads the norms in a metrics.jsonl. Skips lines that are damaged, that have another number of layers, or that differ
// from the first line in whether they have trust ratios.
std::vector<LayerNorms> read_layer_norms(const std::filesystem::path& metrics, size_t layers);

// Returns an SVG of heat maps, layers x steps, of the norms |w| and |g| and of the trust ratio, if there is one. Each
// map has a logarithmic scale of its own. In the map of trust ratios, layers that are not adapted are blank.
std::string layer_picture(const std::string& title, std::span<const LoggedLayer> layers,
                          std::span<const LayerNorms> norms);

}  // namespace kb
