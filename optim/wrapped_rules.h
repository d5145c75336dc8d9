// Wrappers of update rules: each takes the rule of any optimizer and returns one that does something more.
#pragma once
#include "graph/update_rule.h"

namespace kb {

inline constexpr const char* kClipNorm = "clip_norm";
inline constexpr const char* kEmaDecay = "ema_decay";
inline constexpr const char* kEmaOffset = "ema_offset";

// The parameters whose gradient has the norm that is clipped: all that the rule's losses move, or its group's alone.
enum class ClippedNorm : uint8_t { of_losses, of_group };

// Before the rule, g <- g min(1, c / (|g| + 1e-6)), as PyTorch's clip_grad_norm_: |g| is the Euclidean norm over those
// parameters, and c the scalar clip_norm. g is the gradient of the whole minibatch, without weight decay.
UpdateRule with_clipped_gradient(UpdateRule rule, ClippedNorm norm = ClippedNorm::of_losses);

// Averages the parameters over steps: a <- D a + (1 - D) w', where w' are the new parameters, D is the scalar
// ema_decay, and a = w before the first step. The slot ema_offset holds a - w', so it starts at zero whatever the
// parameters start at. The training itself does not change.
UpdateRule with_averaged_parameters(UpdateRule rule);

// Puts `prefix` before the names of the rule's slots and scalars, so that the parameters may have another rule beside
// it.
UpdateRule with_prefix(UpdateRule rule, std::string prefix);

}  // namespace kb
