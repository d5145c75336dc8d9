// Update rules that scale the step of each layer by norms of the layer, and the warmup by RMSprop: a function for each
// of their rows in the table of formulas in optim/README.md, which also says what happens at a norm of zero and to
// layers that are not adapted. A layer is one parameter tensor; lambda is 0 for a layer without decay.
#pragma once
#include "graph/update_rule.h"

namespace kb {

Tensor lars_update(UpdateContext& c);
Tensor lars_mlperf_update(UpdateContext& c);
Tensor lars_unscaled_update(UpdateContext& c);
Tensor lars_plain_update(UpdateContext& c);
Tensor larc_update(UpdateContext& c);
// With epsilon 0 an element that had no gradient yet is 0 / 0; it counts as 0.
Tensor lamb_update(UpdateContext& c);
Tensor rmsprop_warmup_update(UpdateContext& c);

}  // namespace kb
