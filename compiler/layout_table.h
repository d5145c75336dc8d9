// Which physical layout a convolution's activations take: a pure function of target, dtype and channels, from a table
// in the source that `./run tune` prints anew from measurements.
#pragma once
#include "compiler/target.h"

namespace kb {

// Channels stored together: 0 = logical NCHW as it is; == channels: NHWC; else blocked (N, C/b, H, W, b).
int64_t channel_block(const Target& target, DType dtype, int64_t channels);

}  // namespace kb
