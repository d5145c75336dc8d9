// Writes estimates and their intervals as JSON: an end that is open is null.
#pragma once
#include "optim/critical_batch.h"
#include "runtime/json.h"

namespace kb {

Json interval_json(const ConfidenceInterval& interval);  // {"low": .., "high": ..}
Json estimate_json(const Estimate& estimate);            // with "value"

}  // namespace kb
