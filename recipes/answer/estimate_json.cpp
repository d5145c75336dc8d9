#include "recipes/answer/estimate_json.h"

namespace kb {

Json interval_json(const ConfidenceInterval& interval) {
  return {{"low", interval.has_low() ? Json(interval.low) : Json(nullptr)},
          {"high", interval.has_high() ? Json(interval.high) : Json(nullptr)}};
}

Json estimate_json(const Estimate& estimate) {
  Json json = interval_json(estimate.interval);
  json["value"] = estimate.is_told() ? Json(estimate.value) : Json(nullptr);
  return json;
}

}  // namespace kb
