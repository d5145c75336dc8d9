// Which physical layouts a convolution takes: a pure function of target, dtype and channels, from a table
// in the source that `./run tune` prints anew from measurements.
#pragma once
#include <string_view>

#include "compiler/target.h"

namespace kb {

// Channels stored together: 0 = logical NCHW as it is; == channels: NHWC; else blocked (N, C/b, H, W, b).
int64_t channel_block(const Target& target, DType dtype, int64_t channels);

// Weights and their gradients lie as (O, H, W, I): what cuDNN's engines read beside NHWC; given (O, I, H, W), each call
// would transpose into its workspace. A CPU's library has formats of its own (pack_weights).
bool weights_last(const Target& target);

// The table's block for an instruction set of the library (Target::library_isa) and a dtype; 0: NHWC.
int64_t table_block(std::string_view library_isa, DType dtype);

// Returns what channel_block answers where the table says `block`: `block` if it divides the channels; else their
// number (stored whole), or on a CPU 0 for fewer than 16, as images have (logical order).
int64_t channels_together(Processor processor, int64_t block, int64_t channels);

}  // namespace kb
