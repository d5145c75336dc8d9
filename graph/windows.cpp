#include "graph/windows.h"

#include "graph/infer_rules.h"
#include "graph/report.h"

namespace kb {

Tensor as_image(Tensor signal) { return reshape(signal, {signal.size(0), signal.size(1), 1, signal.size(2)}, "NCHW"); }
Tensor as_signal(Tensor image) { return reshape(image, {image.size(0), image.size(1), image.size(3)}, "NCL"); }

Window window_over(std::string_view op, int64_t axes, const WindowSides& sides) {
  const auto numbers = [&](const char* what, const Sides& given, int64_t across) {
    if (axes == 2) return Ints{given.height, given.width};
    if (given.height != given.width)
      report(op, {"two numbers for one axis", std::string("one ") + what + ", along L of [N, C, L]",
                  what + (" " + sides_text(given)), ""});
    return Ints{across, given.width};
  };
  const Window window{numbers("kernel", sides.kernel, 1), numbers("stride", sides.stride, 1),
                      numbers("padding", sides.padding, 0), numbers("dilation", sides.dilation, 1)};
  try {
    check_window({window.kernel, window.stride, window.padding, window.dilation});
  } catch (const Mistake& mistake) {
    report(op, mistake);
  }
  return window;
}

std::string sides_text(const Sides& sides) {
  if (sides.height == sides.width) return std::to_string(sides.height);
  return "{" + std::to_string(sides.height) + ", " + std::to_string(sides.width) + "}";
}

}  // namespace kb
