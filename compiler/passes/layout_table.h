// Chooses the physical layout of a convolution from the target, dtype and channels alone. `./run tune` measures layouts
// and prints the table of choices that the source holds.
#pragma once
#include <string_view>

#include "compiler/target.h"

namespace kb {

// Returns how many channels are stored together: 0 = logical NCHW as it is; == channels: NHWC; else blocked (N, C/b, H,
// W, b).
int64_t channel_block(const Target& target, DType dtype, int64_t channels);

// Returns true if weights and their gradients lie as (O, H, W, I), the order that cuDNN's engines read beside NHWC
// images; from (O, I, H, W) every call would transpose them into its workspace. A CPU's library has formats of its own
// (pack_weights).
bool weights_last(const Target& target);

// Returns the table's block of channels for an instruction set of the library (Target::library_isa) and a dtype; 0:
// NHWC.
int64_t table_block(std::string_view library_isa, DType dtype);

// Returns the answer of channel_block when the table gives `block`: `block` if it divides the channels; otherwise the
// number of channels (they are stored whole). A CPU takes 0 (logical order) for fewer than 16 channels, which images
// have.
int64_t channels_together(Processor processor, int64_t block, int64_t channels);

}  // namespace kb
