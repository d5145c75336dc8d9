// Norms and histograms of every layer as a run goes (--log-layers), and a picture of the norms.
#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/passes.h"
#include "recipes/config/plan.h"
#include "recipes/train/metrics.h"
#include "runtime/session.h"

namespace kb {

constexpr const char* kLayerPicture = "layers.svg";  // in the run folder

// A parameter tensor, as the lines count them: the first layer of the model first.
struct LoggedLayer {
  std::string name;
  bool is_adapted = true;  // by layer-wise rates, where the optimizer has some
};
std::vector<LoggedLayer> logged_layers(const ParameterSpace& space);

// Looks at some of the steps of a training program that was compiled with CompileOptions::log_layers.
class LayerLog {
 public:
  // The plan must outlive it.
  LayerLog(const TrainConfig& config, const RunPlan& plan, const ParameterSpace& space);
  // The first step is, and from then on those with which a period begins.
  bool is_due(int64_t step) const;
  // The step was taken `age` steps ago.
  LayerNorms read(const Session& training, int64_t step, int age) const;
  // Of the step that was taken last, before another is begun.
  LayerHistograms histograms(const Session& training, const StateStore& store, int64_t step) const;

 private:
  Period every_;  // a count of 0: never
  const RunPlan& plan_;
  std::vector<LoggedLayer> layers_;
};

// Two passes over the values, f32 or f64.
Histogram histogram_of(DType dtype, const std::byte* values, int64_t count);

// Reads the norms in a metrics.jsonl; passes over lines that are damaged, of another number of layers, or with a trust
// beside a first line that has none.
std::vector<LayerNorms> read_layer_norms(const std::filesystem::path& metrics, size_t layers);

// Heat maps, layers x steps: |w|, |g| and, where there is one, the trust; each with its scale, logarithmic. Layers
// that are not adapted are blank in the last.
std::string layer_picture(const std::string& title, std::span<const LoggedLayer> layers,
                          std::span<const LayerNorms> norms);

}  // namespace kb
