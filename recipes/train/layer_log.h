// Logs norms and histograms of every layer during a run (judging.log_layers), and draws a picture of the norms.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "compiler/passes/passes.h"
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

constexpr const char* kLayerPicture = "layers.svg";  // file of the run folder

// A parameter tensor of the model. Lines of metrics.jsonl list these tensors in the order of the model, from its input
// to its output.
struct LoggedLayer {
  std::string name;
  bool is_adapted = true;  // false if an optimizer's layer-wise rates do not apply to it
};
std::vector<LoggedLayer> logged_layers(const ParameterSpace& space);

// Reads the norms of some steps from a training program that was compiled with CompileOptions::log_layers.
class LayerLog : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit LayerLog(const LoopParts& parts);

  // Returns true for a step with histograms: they need the gradient, which the device keeps only until the next step.
  bool reads_at_once(int64_t step) const override { return is_due(step) && parts_.observer.wants_histograms(); }
  void stepped(const ReportedStep& reported) override;

 private:
  bool is_due(int64_t step) const;
  LayerNorms read(int64_t step, const StepOutputs& outputs) const;
  LayerHistograms histograms(int64_t step) const;

  const LoopParts& parts_;
  Period every_;  // period between logged steps; a count of 0 means never
  std::vector<LoggedLayer> layers_;
};

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
