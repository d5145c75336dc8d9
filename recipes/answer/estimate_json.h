// Writes estimates and their intervals as JSON: an end that is open is null, and so is a value
// whose ends are both open.
#pragma once
#include "optim/critical_batch.h"
#include "runtime/json.h"

namespace kb {

Json interval_json(const ConfidenceInterval& interval);  // returns {"low": .., "high": ..}
Json estimate_json(const Estimate& estimate);            // returns the interval, with "value" beside its ends

}  // namespace kb
