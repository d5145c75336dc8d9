// Rules around an update rule: each gives a rule that does something more, for any optimizer.
#pragma once
#include "graph/update_rule.h"

namespace kb {

inline constexpr const char* kClipNorm = "clip_norm";
inline constexpr const char* kEmaDecay = "ema_decay";
inline constexpr const char* kEmaOffset = "ema_offset";

// g <- g min(1, c / (|g| + 1e-6)) before the rule, |g| the Euclidean norm over all parameters, c the scalar clip_norm:
// PyTorch's clip_grad_norm_. The gradient is that of the whole minibatch, without weight decay.
UpdateRule with_clipped_gradient(UpdateRule rule);

// Averages the parameters over steps: a <- D a + (1 - D) w', w' the new parameters, D the scalar ema_decay, a = w
// before the first step. The slot ema_offset holds a - w', which starts at zero whatever the parameters start at; the
// training itself is the same.
UpdateRule with_averaged_parameters(UpdateRule rule);

}  // namespace kb
