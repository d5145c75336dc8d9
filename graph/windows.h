// Windows of convolutions and of pooling: over an image (N, C, H, W), or over a signal (N, C, L), which is an image of
// height 1.
#pragma once
#include <string_view>

#include "graph/functions.h"

namespace kb {

// Gives a signal the axis H of extent 1, and takes it away again.
Tensor as_image(Tensor signal);
Tensor as_signal(Tensor image);

struct WindowSides {
  Sides kernel, stride = 1, padding = 0, dilation = 1;
};
// Returns the window over the last `axes` axes of an image (2) or of a signal (1). Throws Error in the name of `op`
// when a number is out of range, or a signal gets two that differ.
Window window_over(std::string_view op, int64_t axes, const WindowSides& sides);

std::string sides_text(const Sides& sides);  // "3", or "{1, 3}" where the two differ

}  // namespace kb
