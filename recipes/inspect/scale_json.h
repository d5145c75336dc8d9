// The forecast for many workers as JSON, for programs and for `study --cluster`.
#pragma once
#include <string>
#include <vector>

#include "recipes/inspect/scaling.h"

namespace kb {

// Returns {"title", "worker", "nodes", "policy": flags, "epoch": samples, "forecasts": [{"algorithm", "rows":
// [{"workers", "minibatch", "step_s", "compute_s", "communication_s", "exposed_s", "waiting", "samples_per_s",
// "efficiency", "sent_bytes", "sent_between_bytes"}]}]}
std::string scale_json(const std::vector<ScaleLine>& lines, int64_t epoch, const ScaleWords& words);

// A forecast that was read: for each number of workers the row of the algorithm whose step takes least.
struct ScaleForecast {
  std::string title, nodes, policy;
  std::vector<ScaleRow> rows;  // rows by ascending number of workers, 1 first; their `of_node` and bytes are not set
};
// Reads what scale_json() wrote. Throws Error, which names `file`, for any other text.
ScaleForecast parse_scale_json(const std::string& text, const std::string& file);

}  // namespace kb
