#include "graph/building.h"
#include "graph/infer_rules.h"
#include "graph/windows.h"

namespace kb {
namespace {

Attrs window_attrs(const Window& window, const Ints& axes) {
  return {{"kernel", window.kernel},
          {"stride", window.stride},
          {"padding", window.padding},
          {"dilation", window.dilation},
          {"axes", axes}};
}

Attrs convolution_attrs(const Window& window, int64_t groups) {
  return {{"stride", window.stride}, {"padding", window.padding}, {"dilation", window.dilation}, {"groups", groups}};
}

// Takes the windows over the last `axes` axes of x, 1 or 2: pool(x, window), where x is an image.
template <class Pool>
Tensor pooled(std::string_view op, Tensor x, const PoolOptions& options, int64_t axes, const Pool& pool) {
  require_rank(op, x, axes + 2, axes == 1 ? "[N, C, L]" : "[N, C, H, W]");
  const Sides &kernel = options.kernel, &padding = options.padding, half{kernel.height / 2, kernel.width / 2};
  if (padding.height > half.height || padding.width > half.width)
    report(op, {"a window would lie in the padding alone", "padding <= kernel / 2 = " + sides_text(half),
                "padding " + sides_text(padding), ""});
  const Sides stride{options.stride.height == 0 ? kernel.height : options.stride.height,
                     options.stride.width == 0 ? kernel.width : options.stride.width};
  const Window window = window_over(op, axes, {kernel, stride, padding});
  return axes == 1 ? as_signal(pool(as_image(x), window)) : pool(x, window);
}

Tensor greatest_of(Tensor x, const Window& window) { return max_pool_with_index(x, window, {2, 3}).value; }

Tensor mean_of(std::string_view op, Tensor x, const PoolOptions& options, int64_t axes) {
  return pooled(op, x, options, axes, [op](Tensor image, const Window& window) {
    require_float(op, image);
    const Tensor total = sum_pool(widened(image), window, {2, 3});
    return cast(total / static_cast<double>(element_count(window.kernel)), image.dtype());
  });
}

}  // namespace

Tensor convolution(Tensor x, Tensor weight, const Window& window, int64_t groups, Where where) {
  const Call call(where);
  require_valid("convolution", weight);
  const Dims& filters = weight.shape();
  if (!window.kernel.empty() && filters.size() == 4 && window.kernel != Ints(filters.begin() + 2, filters.end()))
    report("convolution",
           {"the window's kernel is not the weight's", "the last two extents of " + shape_text(weight.type()),
            ints_text(window.kernel), "leave it out"});
  return make(Op::conv2d, {x, weight}, convolution_attrs(window, groups));
}

Tensor convolution_input_grad(Tensor dy, Tensor weight, const Window& window, int64_t groups, Ints input_size,
                              int64_t channels, Where where) {
  const Call call(where);
  Attrs attrs = convolution_attrs(window, groups);
  attrs.set("input_size", std::move(input_size)).set("channels", channels);
  return make(Op::conv2d_input_grad, {dy, weight}, std::move(attrs));
}

Tensor convolution_weight_grad(Tensor x, Tensor dy, const Window& window, int64_t groups, Where where) {
  const Call call(where);
  Attrs attrs = convolution_attrs(window, groups);
  attrs.set("kernel", window.kernel);
  return make(Op::conv2d_weight_grad, {x, dy}, std::move(attrs));
}

MaxPool max_pool_with_index(Tensor x, const Window& window, Ints axes, Where where) {
  const Call call(where);
  const Tensor value = make(Op::max_pool, {x}, window_attrs(window, real_axes("max_pool", x, std::move(axes))));
  return {value, output(value, 1)};
}

Tensor max_pool2d(Tensor x, const PoolOptions& options, Where where) {
  const Call call(where);
  return pooled("max_pool2d", x, options, 2, greatest_of);
}

Tensor max_pool1d(Tensor x, const PoolOptions& options, Where where) {
  const Call call(where);
  return pooled("max_pool1d", x, options, 1, greatest_of);
}

Tensor sum_pool(Tensor x, const Window& window, Ints axes, Where where) {
  const Call call(where);
  return make(Op::sum_pool, {x}, window_attrs(window, real_axes("sum_pool", x, std::move(axes))));
}

Tensor avg_pool2d(Tensor x, const PoolOptions& options, Where where) {
  const Call call(where);
  return mean_of("avg_pool2d", x, options, 2);
}

Tensor avg_pool1d(Tensor x, const PoolOptions& options, Where where) {
  const Call call(where);
  return mean_of("avg_pool1d", x, options, 1);
}

Tensor global_avg_pool(Tensor x, Where where) {
  const Call call(where);
  require_same_graph("global_avg_pool", {x});
  if (x.rank() == 3) return mean(x, {2});
  require_rank("global_avg_pool", x, 4, "[N, C, H, W]");
  return mean(x, {2, 3});
}

namespace {

// Takes the means of `parts` ranges along one axis, range i from floor(i extent / parts) to ceil((i + 1) extent /
// parts).
Tensor range_means(Tensor x, int64_t axis, int64_t parts) {
  const int64_t extent = x.size(axis);
  std::vector<Tensor> means;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t begin = i * extent / parts, end = ((i + 1) * extent + parts - 1) / parts;
    means.push_back(mean(slice(x, axis, begin, end), {axis}, true));
  }
  return concat(means, axis);
}

}  // namespace

Tensor adaptive_avg_pool2d(Tensor x, Sides size, Where where) {
  const Call call(where);
  require_rank("adaptive_avg_pool2d", x, 4, "[N, C, H, W]");
  require_float("adaptive_avg_pool2d", x);
  require_positive("adaptive_avg_pool2d", size.height, "the height");
  require_positive("adaptive_avg_pool2d", size.width, "the width");
  const int64_t height = x.size(2), width = x.size(3);
  if (height > 0 && width > 0 && height % size.height == 0 && width % size.width == 0)
    return avg_pool2d(x, {.kernel = {height / size.height, width / size.width}});
  return cast(range_means(range_means(widened(x), 2, size.height), 3, size.width), x.dtype());
}

namespace {

// Interpolates along one axis. Element i lies at i + 1/2, and results at the centres of `factor` parts of it.
Tensor bilinear_along(Tensor x, int64_t axis, int64_t factor) {
  if (factor == 1) return x;
  const int64_t extent = x.size(axis);
  const Tensor held = concat({slice(x, axis, 0, 1), x, slice(x, axis, extent - 1, extent)}, axis);
  const auto from = [&](int64_t begin) { return slice(held, axis, begin, begin + extent); };
  const auto along = [&](int64_t value) {
    Ints values(x.shape().size(), 0);
    values[static_cast<size_t>(axis)] = value;
    return values;
  };
  Tensor y;
  for (int64_t part = 0; part < factor; ++part) {
    const double at = (static_cast<double>(part) + 0.5) / static_cast<double>(factor) - 0.5;
    const int64_t left = at < 0 ? 0 : 1;
    const double share = at < 0 ? at + 1 : at;
    const Tensor mixed = 2 * part + 1 == factor ? from(1) : from(left) * (1 - share) + from(left + 1) * share;
    const Tensor apart = pad(mixed, along(part), along(factor - 1 - part), 0, along(factor - 1));
    y = y.valid() ? y + apart : apart;
  }
  return y;
}

}  // namespace

Tensor upsample2d(Tensor x, Sides factor, Interpolation how, Where where) {
  const Call call(where);
  require_rank("upsample2d", x, 4, "[N, C, H, W]");
  require_float("upsample2d", x);
  require_positive("upsample2d", factor.height, "the factor of the height");
  require_positive("upsample2d", factor.width, "the factor of the width");
  if (how == Interpolation::bilinear)
    return cast(bilinear_along(bilinear_along(widened(x), 2, factor.height), 3, factor.width), x.dtype());
  // The gradient of a sum over windows that do not overlap gives each element to all of its window.
  const Ints sides{factor.height, factor.width};
  Attrs attrs = window_attrs({.kernel = sides, .stride = sides}, {2, 3});
  attrs.set("input_size", Ints{element_count({x.size(2), sides[0]}), element_count({x.size(3), sides[1]})});
  return make(Op::sum_pool_grad, {x}, std::move(attrs));
}

}  // namespace kb
