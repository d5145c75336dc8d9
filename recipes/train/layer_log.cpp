#include "recipes/train/layer_log.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "runtime/input_file.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

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

}  // namespace

// The flat space is in the order of the backward pass.
std::vector<LoggedLayer> logged_layers(const ParameterSpace& space) {
  std::vector<LoggedLayer> layers;
  for (const Segment& segment : space.segments) layers.push_back({segment.name, segment.adapt});
  std::reverse(layers.begin(), layers.end());
  return layers;
}

LayerLog::LayerLog(const RunConfig& config, const RunPlan& plan, const ParameterSpace& space)
    : plan_(plan), layers_(logged_layers(space)) {
  if (!config.log_layers) return;
  const auto [count, is_epochs] = *config.log_layers;
  every_ = {count, is_epochs ? Period::Unit::epochs : Period::Unit::steps};
}

bool LayerLog::is_due(int64_t step) const { return every_.count > 0 && (step == 0 || kb::is_due(every_, plan_, step)); }

LayerNorms LayerLog::read(const Session& training, int64_t step, int age) const {
  LayerNorms norms{step, {}, {}, {}};
  for (const auto& [name, values] :
       {std::pair{"weight", &norms.weight}, {"gradient", &norms.gradient}, {"trust", &norms.trust}}) {
    if (!training.has_output(kLayerOutput + name)) continue;
    training.read(kLayerOutput + name, *values, age);
    std::reverse(values->begin(), values->end());
  }
  for (size_t i = 0; i < norms.trust.size(); ++i)
    if (!layers_[i].is_adapted) norms.trust[i] = kNone;
  return norms;
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

}  // namespace kb
