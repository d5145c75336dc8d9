#include "recipes/train/layer_log.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "recipes/train/instruments.h"
#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeastRange = std::numeric_limits<double>::min();

std::vector<double> numbers(const JsonValue& line, const char* key) {
  std::vector<double> result;
  if (!line.has(key)) return result;
  for (const JsonValue& item : line.at(key).items())
    result.push_back(item.kind() == JsonValue::Kind::null ? kNone : item.as<double>());
  return result;
}

std::optional<LayerNorms> parse_line(const std::string& line) {
  try {
    const JsonValue json = parse_json(line, "metrics.jsonl");
    return LayerNorms{json.get<int64_t>("step"), numbers(json, "weight"), numbers(json, "gradient"),
                      numbers(json, "trust")};
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Skips values that are not finite, which a step in f16 has if its loss scale was too large.
template <class Number>
Histogram histogram(std::span<const Number> values) {
  Histogram result;
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  for (const Number number : values) {
    const auto value = static_cast<double>(number);
    if (!std::isfinite(value)) continue;
    ++result.count;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
    result.sum += value;
    result.sum_of_squares += value * value;
  }
  if (result.count == 0) return result;
  result.least = least;
  result.greatest = greatest;
  result.counts.resize(least < greatest ? kHistogramParts : 1);
  const double parts = static_cast<double>(result.counts.size()) / std::max(greatest - least, kLeastRange);
  for (const Number number : values)
    if (const auto value = static_cast<double>(number); std::isfinite(value))
      ++result.counts[std::min(static_cast<size_t>((value - least) * parts), result.counts.size() - 1)];
  return result;
}

// Logs norms and histograms of the layers in some steps. Reads the norms from a training program that was compiled with
// CompileOptions::log_layers.
class LayerLog : public Instrument {
 public:
  // `parts` must outlive this object.
  explicit LayerLog(const LoopParts& parts)
      : parts_(parts),
        every_(parts.config.judging.log_layers.value_or(Period{})),
        layers_(logged_layers(parts.training().compiled().space)) {}

  // Returns true for a step with histograms: they need the gradient, which the device keeps only until the next step.
  bool reads_at_once(int64_t step) const override { return is_due(step) && parts_.observer.wants_histograms(); }

  void stepped(const ReportedStep& reported) override {
    const int64_t step = reported.metrics.step;
    if (!is_due(step)) return;
    parts_.observer.layers(read(step, reported.outputs));
    if (reported.outputs.is_last && parts_.observer.wants_histograms()) parts_.observer.histograms(histograms(step));
  }

 private:
  // Step 0 is logged, and every step with which a new period begins.
  bool is_due(int64_t step) const { return every_.count > 0 && (step == 0 || kb::is_due(every_, parts_.plan, step)); }

  LayerNorms read(int64_t step, const StepOutputs& outputs) const {
    const Session& training = outputs.session;
    LayerNorms norms{step, {}, {}, {}};
    for (const auto& [name, values] :
         {std::pair{"weight", &norms.weight}, {"gradient", &norms.gradient}, {"trust", &norms.trust}}) {
      if (!training.has_output(kLayerOutput + name)) continue;
      training.read(kLayerOutput + name, *values, outputs.age);
      std::reverse(values->begin(), values->end());
    }
    for (size_t i = 0; i < norms.trust.size(); ++i)
      if (!layers_[i].is_adapted) norms.trust[i] = kNone;
    return norms;
  }

  // Makes the histograms of the last step, whose program is that of the loop's parts. No further step may have begun,
  // since weights and gradients are read as they are.
  LayerHistograms histograms(int64_t step) const {
    const Session& training = parts_.training();
    LayerHistograms all{step, {}, {}};
    std::map<std::string_view, const TensorView*> weights;
    const std::vector<TensorView> views = parts_.store.views(false);
    for (const TensorView& view : views) weights[view.name] = &view;
    const ParameterSpace& space = training.compiled().space;
    const DType dtype = training.output_type(kGradientVector).dtype;
    const std::byte* gradients = training.output(kGradientVector);
    for (auto segment = space.segments.rbegin(); segment != space.segments.rend(); ++segment) {
      const TensorView& weight = *weights.at(segment->name);
      all.weight.push_back(histogram_of(weight.type.dtype, weight.data, weight.type.elements()));
      all.gradient.push_back(histogram_of(dtype, gradients + segment->offset * size_of(dtype), segment->length));
    }
    return all;
  }

  const LoopParts& parts_;
  const Period every_;  // period between logged steps; a count of 0 means never
  std::vector<LoggedLayer> layers_;
};

}  // namespace

Histogram histogram_of(DType dtype, const std::byte* values, int64_t count) {
  const auto length = static_cast<size_t>(count);
  if (dtype == DType::f64) return histogram(std::span(reinterpret_cast<const double*>(values), length));
  ensure(dtype == DType::f32, "histogram_of: values are f32 or f64");
  return histogram(std::span(reinterpret_cast<const float*>(values), length));
}

// Reverses the order of the parameter space, which is that of the backward pass.
std::vector<LoggedLayer> logged_layers(const ParameterSpace& space) {
  std::vector<LoggedLayer> layers;
  for (const Segment& segment : space.segments) layers.push_back({segment.name, segment.adapt});
  std::reverse(layers.begin(), layers.end());
  return layers;
}

std::vector<LayerNorms> read_layer_norms(const std::filesystem::path& metrics, size_t layers) {
  std::vector<LayerNorms> all;
  if (!is_there(metrics)) return all;
  std::istringstream text(read_file(metrics));
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("{\"kind\":\"layers\"")) continue;
    std::optional<LayerNorms> norms = parse_line(line);
    if (!norms) continue;
    const size_t trusts = all.empty() ? norms->trust.size() : all.front().trust.size();
    const bool is_whole = norms->weight.size() == layers && norms->gradient.size() == layers &&
                          norms->trust.size() == trusts && (trusts == 0 || trusts == layers);
    if (is_whole) all.push_back(std::move(*norms));
  }
  return all;
}

std::unique_ptr<Instrument> make_layer_log(const LoopParts& parts) { return std::make_unique<LayerLog>(parts); }

}  // namespace kb
