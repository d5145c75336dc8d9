#include <limits>

#include "graph/infer_rules.h"

namespace kb {
namespace {

// The greatest number in a window's attributes. A product of two such numbers does not overflow.
constexpr int64_t kMostTaps = int64_t{1} << 20;

void check_pair(const Ints& values, const char* what, int64_t least, int64_t most = kMostTaps) {
  const auto fits = [&](int64_t value) { return least <= value && value <= most; };
  if (values.size() != 2 || !fits(values[0]) || !fits(values[1]))
    throw Mistake{std::string(what) + " out of range",
                  "two numbers [H, W], each from " + std::to_string(least) + " to " + std::to_string(most),
                  ints_text(values), ""};
}

// Returns whether a window that begins at `first` meets an element of the input. Every window of a max_pool must,
// because the maximum of no elements is undefined. A window with dilation can reach over the input on both sides and
// still meet no element: it looks at first, first + dilation, ... alone.
bool meets_an_element(int64_t first, int64_t kernel, int64_t dilation, int64_t extent) {
  const int64_t before = first < 0 ? (-first + dilation - 1) / dilation : 0;
  return before < kernel && first + before * dilation < extent;
}

void check_windows_meet_elements(const Ints& size, const WindowAttrs& window, const Ints& windows, const Type& x) {
  for (size_t i = 0; i < 2; ++i) {
    const int64_t in_padding = window.padding[i] / window.stride[i] + 1;  // the most windows that begin in the padding
    for (int64_t o = 0; o < windows[i]; o = o < in_padding || o + 1 == windows[i] ? o + 1 : windows[i] - 1) {
      const int64_t first = o * window.stride[i] - window.padding[i];
      if (meets_an_element(first, window.kernel[i], window.dilation[i], size[i])) continue;
      throw Mistake{"a window lies in the padding alone",
                    "an element of x " + shape_text(x) + " in every window: padding <= kernel / 2",
                    "kernel " + ints_text(window.kernel) + ", padding " + ints_text(window.padding) + ", dilation " +
                        ints_text(window.dilation),
                    ""};
    }
  }
}

// Returns the extents of the two axes of a plane.
Ints plane(const Type& x, const Ints& axes) {
  if (axes.size() != 2) throw Mistake{"wrong number of axes", "the positions of [H, W]", ints_text(axes), ""};
  check_axes(axes, x);
  return {x.shape[static_cast<size_t>(axes[0])], x.shape[static_cast<size_t>(axes[1])]};
}

Type with_plane(const Type& x, const Ints& axes, const Ints& size) {
  Type result = x;
  for (size_t i = 0; i < 2; ++i) result.shape[static_cast<size_t>(axes[i])] = size[i];
  return result;
}

Type infer_grad(const Type& dy, const Attrs& attrs) {
  const Ints& axes = attrs.ints("axes");
  const Ints& size = attrs.ints("input_size");
  plane(dy, axes);
  check_pair(size, "input_size", 1, std::numeric_limits<int32_t>::max());
  return with_plane(dy, axes, size);
}

// Returns the dtype of the indices of a max_pool: u8 holds the taps of most windows, of which i32 holds all.
DType index_dtype(const Ints& kernel, const Type& x) {
  const int64_t taps = element_count(kernel);
  check_i32_numbers(taps, "taps of a window " + ints_text(kernel), x);
  return taps - 1 <= greatest(DType::u8) ? DType::u8 : DType::i32;
}

// Throws Mistake unless `index` has one element for each window of x.
void check_index(const Type& index, const Type& x, const Attrs& attrs) {
  const Ints& axes = attrs.ints("axes");
  const WindowAttrs window = read_window(attrs, attrs.ints("kernel"));
  check_dtype(index, index_dtype(window.kernel, x), "index");
  const Type windows = with_plane(x, axes, windowed(plane(x, axes), window, x));
  if (index.shape != windows.shape)
    throw Mistake{"index does not fit", "one element for each window of x: " + shape_text(windows), shape_text(index),
                  ""};
}

}  // namespace

void check_window(const WindowAttrs& window) {
  check_pair(window.kernel, "kernel", 1);
  check_pair(window.stride, "stride", 1);
  check_pair(window.padding, "padding", 0);
  check_pair(window.dilation, "dilation", 1);
}

WindowAttrs read_window(const Attrs& attrs, const Ints& kernel) {
  WindowAttrs window{kernel, attrs.ints("stride"), attrs.ints("padding"), attrs.ints("dilation")};
  check_window(window);
  return window;
}

Ints windowed(const Ints& size, const WindowAttrs& window, const Type& x) {
  Ints result(2);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = window.dilation[i] * (window.kernel[i] - 1) + 1;
    const int64_t padded = size[i] + 2 * window.padding[i];
    if (reach > padded)
      throw Mistake{"the kernel is larger than the padded input",
                    std::string(i == 0 ? "H" : "W") + " of " + std::to_string(reach - 2 * window.padding[i]) +
                        " or more for kernel " + ints_text(window.kernel) + ", padding " + ints_text(window.padding) +
                        ", dilation " + ints_text(window.dilation),
                    shape_text(x), "pad more, or use a smaller kernel or fewer strides before"};
    result[i] = (padded - reach) / window.stride[i] + 1;
  }
  return result;
}

std::vector<Type> infer_window(Op op, std::span<const Type> in, const Attrs& attrs) {
  const Type& x = in[0];
  const Ints& axes = attrs.ints("axes");
  if (op != Op::take_at_index) check_numbers(x);
  switch (op) {
    case Op::max_pool:
    case Op::sum_pool: {
      const WindowAttrs window = read_window(attrs, attrs.ints("kernel"));
      const Ints size = plane(x, axes), windows = windowed(size, window, x);
      Type value = with_plane(x, axes, windows);
      if (op == Op::sum_pool) {
        check_summable(x);
        return {value};
      }
      check_windows_meet_elements(size, window, windows, x);
      Type index = value;
      index.dtype = index_dtype(window.kernel, x);
      return {std::move(value), std::move(index)};
    }
    case Op::max_pool_grad: {
      if (in[1].shape != x.shape)
        throw Mistake{"index does not fit", "dy's shape " + shape_text(x), shape_text(in[1]), ""};
      Type dx = infer_grad(x, attrs);
      check_index(in[1], dx, attrs);
      return {std::move(dx)};
    }
    case Op::take_at_index:
      check_index(in[1], x, attrs);
      return {Type{x.dtype, in[1].shape, x.names}};
    case Op::sum_pool_grad: {
      Type dx = infer_grad(x, attrs);
      const Ints fits = windowed(plane(dx, axes), read_window(attrs, attrs.ints("kernel")), dx);
      if (plane(x, axes) != fits) throw Mistake{"dy does not fit", "[H, W]=" + ints_text(fits), shape_text(x), ""};
      return {std::move(dx)};
    }
    default:
      throw InternalError("infer: no rule for window " + std::string(name(op)));
  }
}

}  // namespace kb
