// A forecast of many workers as JSON, for programs, and for `study --cluster`.
#pragma once
#include <string>
#include <vector>

#include "recipes/inspect/scaling.h"

namespace kb {

// {"title", "worker", "nodes", "epoch": samples, "forecasts": [{"algorithm", "rows": [{"workers", "minibatch",
// "step_s", "communication_s", "exposed_s", "samples_per_s", "efficiency"}]}]}
std::string scale_json(const std::vector<ScaleLine>& lines, int64_t epoch, const ScaleWords& words);

// Row by row the algorithm whose step takes least. Throws Error, which names `file`, where it is no such text.
struct ScaleForecast {
  std::string title, nodes;
  std::vector<ScaleRow> rows;  // ascending by workers; without what a study does not ask for: `of_node`
};
ScaleForecast parse_scale_json(const std::string& text, const std::string& file);

}  // namespace kb
