// Norms and histograms of every layer as a run goes (judging.log_layers), and a picture of the norms.
#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/passes/passes.h"
#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"

namespace kb {

constexpr const char* kLayerPicture = "layers.svg";  // file of the run folder

// A parameter tensor of the model. Lines of metrics.jsonl list them in the order of the model, the first layer first.
struct LoggedLayer {
  std::string name;
  bool is_adapted = true;  // false: the layer-wise rates of an optimizer leave it out
};
std::vector<LoggedLayer> logged_layers(const ParameterSpace& space);

// Looks at some of the steps of a training program that was compiled with CompileOptions::log_layers.
class LayerLog : public Instrument {
 public:
  // `parts` must outlive it.
  explicit LayerLog(const LoopParts& parts);

  // Reads gradients for histograms; the device keeps them until the next step.
  bool reads_at_once(int64_t step) const override { return is_due(step) && parts_.observer.wants_histograms(); }
  void stepped(const ReportedStep& reported) override;

 private:
  bool is_due(int64_t step) const;
  LayerNorms read(int64_t step, int age) const;
  LayerHistograms histograms(int64_t step) const;

  const LoopParts& parts_;
  Period every_;  // a count of 0 means never
  std::vector<LoggedLayer> layers_;
};

// Returns the histogram of values, f32 or f64, in two passes over them.
Histogram histogram_of(DType dtype, const std::byte* values, int64_t count);

// Reads the norms in a metrics.jsonl; passes over lines that are damaged, of another number of layers, or with a trust
// beside a first line that has none.
std::vector<LayerNorms> read_layer_norms(const std::filesystem::path& metrics, size_t layers);

// Heat maps, layers x steps: |w|, |g| and, where there is one, the trust; each with its scale, logarithmic. Layers
// that are not adapted are blank in the last.
std::string layer_picture(const std::string& title, std::span<const LoggedLayer> layers,
                          std::span<const LayerNorms> norms);

}  // namespace kb
