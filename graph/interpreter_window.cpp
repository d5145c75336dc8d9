// The interpreter's pooling ops, over any two axes of a shape. A plane is what the two axes span for one index of the
// others.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/interpreter_ops.h"

namespace kb::oracle {
namespace {

// Extents and strides of an array's two windowed axes.
struct Plane {
  int64_t height, width, row, column;
};

Plane plane_of(const Dims& shape, const Ints& axes) {
  const Ints strides = row_major(shape);
  const auto h = static_cast<size_t>(axes[0]), w = static_cast<size_t>(axes[1]);
  return {shape[h], shape[w], strides[h], strides[w]};
}

// Calls f(offset of the plane in a, its offset in b) for each plane. Shapes a and b differ in the windowed axes alone.
template <class F>
void for_each_plane(const Dims& a, const Dims& b, const Ints& axes, F&& f) {
  Dims outer = a;
  for (const int64_t axis : axes) outer[static_cast<size_t>(axis)] = 1;
  walk<2>(outer, {row_major(a), row_major(b)}, [&](const auto& at) { f(at[0], at[1]); });
}

struct Taps {
  Ints kernel, stride, padding, dilation;
};

Taps taps_of(const Attrs& attrs) {
  return {attrs.ints("kernel"), attrs.ints("stride"), attrs.ints("padding"), attrs.ints("dilation")};
}

// Calls f(h, w, tap) for each element of the large plane in window (oh, ow); elements in the padding are left out.
template <class F>
void for_each_tap(const Taps& taps, const Plane& large, int64_t oh, int64_t ow, F&& f) {
  for (int64_t kh = 0; kh < taps.kernel[0]; ++kh) {
    const int64_t h = oh * taps.stride[0] - taps.padding[0] + kh * taps.dilation[0];
    if (h < 0 || h >= large.height) continue;
    for (int64_t kw = 0; kw < taps.kernel[1]; ++kw) {
      const int64_t w = ow * taps.stride[1] - taps.padding[1] + kw * taps.dilation[1];
      if (w >= 0 && w < large.width) f(h, w, kh * taps.kernel[1] + kw);
    }
  }
}

// Calls f(position of a window in the small array, offset of its plane in the large array, oh, ow) for all windows of
// all planes; (oh, ow) is the window's place in the small plane.
template <class F>
void for_each_window(const Work& work, const Dims& large_shape, const Dims& small_shape, F&& f) {
  const Ints& axes = work.node.attrs.ints("axes");
  const Plane small = plane_of(small_shape, axes);
  for_each_plane(large_shape, small_shape, axes, [&](int64_t large_at, int64_t small_at) {
    for (int64_t oh = 0; oh < small.height; ++oh) {
      for (int64_t ow = 0; ow < small.width; ++ow)
        f(static_cast<size_t>(small_at + oh * small.row + ow * small.column), large_at, oh, ow);
    }
  });
}

void max_pool(const Work& work) {
  const Array& x = *work.in[0];
  const Taps taps = taps_of(work.node.attrs);
  const Plane plane = plane_of(x.type.shape, work.node.attrs.ints("axes"));
  for_each_window(work, x.type.shape, work.out[0].type.shape, [&](size_t o, int64_t base, int64_t oh, int64_t ow) {
    double best = -std::numeric_limits<double>::infinity();
    int64_t index = -1;
    for_each_tap(taps, plane, oh, ow, [&](int64_t h, int64_t w, int64_t tap) {
      const double value = x.data[static_cast<size_t>(base + h * plane.row + w * plane.column)];
      if (index >= 0 && (std::isnan(best) || value <= best)) return;
      best = value;
      index = tap;
    });
    ensure(index >= 0, "interpreter: a max_pool window lies wholly in the padding");
    work.out[0].data[o] = best;
    work.out[1].data[o] = static_cast<double>(index);
  });
}

// Calls f(position of a window in the small array, position in the large one of the element that its index names) for
// all windows whose index names an element; an index that is no tap of the window, or one in the padding, names none.
template <class F>
void for_each_indexed(const Work& work, const Dims& large, const Array& index, F&& f) {
  const Taps taps = taps_of(work.node.attrs);
  const Plane plane = plane_of(large, work.node.attrs.ints("axes"));
  for_each_window(work, large, index.type.shape, [&](size_t o, int64_t base, int64_t oh, int64_t ow) {
    for_each_tap(taps, plane, oh, ow, [&](int64_t h, int64_t w, int64_t tap) {
      if (static_cast<double>(tap) == index.data[o]) f(o, static_cast<size_t>(base + h * plane.row + w * plane.column));
    });
  });
}

void max_pool_grad(const Work& work) {
  const Array &dy = *work.in[0], &index = *work.in[1];
  Array& dx = work.out[0];
  for_each_indexed(work, dx.type.shape, index, [&](size_t o, size_t at) { dx.data[at] += dy.data[o]; });
}

void take_at_index(const Work& work) {
  const Array &x = *work.in[0], &index = *work.in[1];
  Array& taken = work.out[0];
  std::fill(taken.data.begin(), taken.data.end(), missing(x.type.dtype));
  for_each_indexed(work, x.type.shape, index, [&](size_t o, size_t at) { taken.data[o] = x.data[at]; });
}

// sum_pool reads the large array into the small one; its gradient adds the small one into the large one.
void sum_pool(const Work& work, bool gradient) {
  const Array& in = *work.in[0];
  Array& out = work.out[0];
  const Dims& large = gradient ? out.type.shape : in.type.shape;
  const Dims& small = gradient ? in.type.shape : out.type.shape;
  const Taps taps = taps_of(work.node.attrs);
  const Plane plane = plane_of(large, work.node.attrs.ints("axes"));
  for_each_window(work, large, small, [&](size_t o, int64_t base, int64_t oh, int64_t ow) {
    for_each_tap(taps, plane, oh, ow, [&](int64_t h, int64_t w, int64_t) {
      const auto at = static_cast<size_t>(base + h * plane.row + w * plane.column);
      if (gradient) {
        out.data[at] += in.data[o];
      } else {
        out.data[o] += in.data[at];
      }
    });
  });
}

}  // namespace

void window(const Work& work) {
  const Op op = work.node.op;
  if (op == Op::max_pool) return max_pool(work);
  if (op == Op::max_pool_grad) return max_pool_grad(work);
  if (op == Op::take_at_index) return take_at_index(work);
  ensure(op == Op::sum_pool || op == Op::sum_pool_grad, "interpreter: not a window op");
  sum_pool(work, op == Op::sum_pool_grad);
}

}  // namespace kb::oracle
