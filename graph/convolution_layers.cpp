#include "graph/building.h"
#include "graph/layers.h"
#include "graph/windows.h"

namespace kb {
namespace {

void check_convolution(std::string_view op, Tensor x, int64_t channels, int64_t groups, int64_t axes) {
  require_same_graph(op, {x});
  if (x.rank() == 5)
    report(op, {"no convolution runs over three axes", "x [N, C, H, W] of conv2d, or [N, C, L] of conv1d",
                shape_text(x.type()),
                "depth as samples, reshape(transpose(x, {0, 2, 1, 3, 4}), {N * D, C, H, W}), or a copy of conv3d in "
                "recipes/tutorial/own_layers.h"});
  require_rank(op, x, axes + 2, axes == 1 ? "x [N, C, L]" : "x [N, C, H, W]");
  require_float(op, x);
  require_positive(op, channels, "channels");
  const int64_t in = x.size(1);
  if (groups < 1 || in % groups != 0 || channels % groups != 0)
    report(op, {"groups do not divide the channels",
                "a divisor of " + std::to_string(in) + " input and " + std::to_string(channels) + " output channels",
                std::to_string(groups) + " groups", ""});
}

// Returns the fans of filters with `in` channels that are read and `out` that are written, each of so many taps.
Fans fans_of(int64_t in, int64_t out, int64_t taps) {
  return {static_cast<double>(in) * static_cast<double>(taps), static_cast<double>(out) * static_cast<double>(taps)};
}

// Adds the layer's bias, one value a channel, to y.
Tensor with_bias(Tensor y, Init init) {
  return y + broadcast_axes(weight_for(y, "bias", Role::bias, {y.size(1)}, "C", init), y.shape(), {1});
}

// A convolution over the last `axes` axes of x, 1 or 2.
Tensor convolution_layer(std::string_view op, Tensor x, int64_t channels, const ConvOptions& options, int64_t axes) {
  check_convolution(op, x, channels, options.groups, axes);
  const bool line = axes == 1;
  const Window window = window_over(op, axes, {options.kernel, options.stride, options.padding, options.dilation});
  const int64_t inputs = x.size(1) / options.groups, taps = element_count(window.kernel);
  const Fans fans = fans_of(inputs, channels / options.groups, taps);
  const Initialiser own = options.bias ? uniform_fan_in() : he_normal(fan_out);
  const Init init = resolve(op, options.init.value_or(own), fans);
  const Dims image_filters{channels, inputs, window.kernel[0], window.kernel[1]};
  const Dims filters = line ? Dims{channels, inputs, taps} : image_filters;
  Tensor w = weight_for(x, "weight", Role::weight, filters, line ? "OIL" : "OIHW", init);
  if (line) w = reshape(w, image_filters, "OIHW");
  Tensor y = convolution(line ? as_image(x) : x, w, window, options.groups);
  if (options.bias) y = with_bias(y, options.init ? resolve(op, zeros, {}) : init);
  return line ? as_signal(y) : y;
}

// Returns how far a transposed convolution's result reaches along one axis.
int64_t transposed_extent(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, int64_t more) {
  return (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1;
}

// Adds zeros behind the last rows and columns, as many as `steps` on [H, W].
Tensor with_zeros_behind(Tensor x, const Ints& steps) {
  if (steps == Ints{0, 0}) return x;
  return pad(x, {0, 0, 0, 0}, {0, 0, steps[0], steps[1]});
}

void check_output_padding(const TransposedConvOptions& o) {
  const auto fits = [](int64_t more, int64_t stride, int64_t dilation) {
    return more >= 0 && more < std::max(stride, dilation);
  };
  if (fits(o.output_padding.height, o.stride.height, o.dilation.height) &&
      fits(o.output_padding.width, o.stride.width, o.dilation.width))
    return;
  report("conv_transpose2d",
         {"output_padding out of range",
          "0 or more, and less than the stride " + sides_text(o.stride) + " or the dilation " + sides_text(o.dilation),
          "output_padding " + sides_text(o.output_padding), "more rows would be the bias alone"});
}

}  // namespace

Tensor conv2d(const std::string& name, Tensor x, int64_t channels, const ConvOptions& options, Where where) {
  const Call call(where);
  const Scope scope(name);
  return convolution_layer("conv2d", x, channels, options, 2);
}

Tensor conv1d(const std::string& name, Tensor x, int64_t channels, const ConvOptions& options, Where where) {
  const Call call(where);
  const Scope scope(name);
  return convolution_layer("conv1d", x, channels, options, 1);
}

Tensor conv_transpose2d(const std::string& name, Tensor x, int64_t channels, const TransposedConvOptions& options,
                        Where where) {
  const Call call(where);
  const Scope scope(name);
  const char* const op = "conv_transpose2d";
  check_convolution(op, x, channels, options.groups, 2);
  check_output_padding(options);
  const Window window = window_over(op, 2, {options.kernel, options.stride, options.padding, options.dilation});
  const Ints more{options.output_padding.height, options.output_padding.width};
  Ints size;
  for (size_t i = 0; i < 2; ++i)
    size.push_back(transposed_extent(x.shape()[i + 2], window.kernel[i], window.stride[i], window.padding[i],
                                     window.dilation[i], more[i]));
  const int64_t outputs = channels / options.groups, taps = element_count(window.kernel);
  const Fans fans = fans_of(outputs, x.size(1) / options.groups, taps);
  const Init init = resolve(op, options.init.value_or(uniform_fan_in()), fans);
  const Tensor w =
      weight_for(x, "weight", Role::weight, {x.size(1), outputs, window.kernel[0], window.kernel[1]}, "OIHW", init);
  // A convolution of `size` has one window more for each stride that fits into the output padding: its x is 0.
  const Tensor whole = with_zeros_behind(x, {more[0] / window.stride[0], more[1] / window.stride[1]});
  const Tensor y = convolution_input_grad(whole, w, window, options.groups, size, channels);
  return options.bias ? with_bias(y, options.init ? resolve(op, zeros, {}) : init) : y;
}

}  // namespace kb
