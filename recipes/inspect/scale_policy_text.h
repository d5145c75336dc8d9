// Texts of forecasts under a policy: its flags, errors and tables.
#pragma once
#include <string>

#include "recipes/inspect/scale_policy.h"

namespace kb {

// Throws UsageError, which names the flag, for a policy without a forecast, and for flags that a forecast does not
// know.
void check_scale_policy(const Synchronising& sync);

// Returns the flags on which a forecast depends: "--policy local --every 16".
std::string policy_flags(const Synchronising& sync);

// Returns the tables of all lines, of 88 columns at most, and a sentence on their columns.
std::string policy_tables(const PolicyLines& lines, const Synchronising& sync);

}  // namespace kb
