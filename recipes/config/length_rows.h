// Rows of the flags that say when a training ends, grows or looks at itself (flags.inc).
#pragma once
#include "recipes/config/flag_rows.h"

namespace kb {

FlagRow stop_at();
FlagRow target();
FlagRow minibatch_schedule();
FlagRow bucket_lengths();
FlagRow log_layers();
FlagRow rounds_begin();

}  // namespace kb
