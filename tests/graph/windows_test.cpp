// Tests convolutions and pooling of signals (N, C, L) and of images (N, C, H, W) against naive loops in double.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "graph/error.h"
#include "graph/interpreter.h"
#include "graph/layers.h"

namespace kb::windows_test {
namespace {

const auto kClose = boost::test_tools::tolerance(1e-12);
static_assert(std::is_convertible_v<int, Sides> && !std::is_convertible_v<double, Sides>);  // {.kernel = 2.5}
constexpr int64_t kSamples = 2, kChannels = 4, kFilters = 8;

// The extents of an image; a signal is one of height 1, around which a window neither moves nor reaches.
struct Plane {
  int64_t height, width;
};
constexpr Plane kPlanes[] = {{1, 13}, {9, 7}};

struct Axis {
  int64_t extent, kernel, stride, padding, dilation;
  int64_t windows() const { return (extent + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1; }
  int64_t transposed(int64_t more) const {
    return (extent - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1;
  }
  // Returns where tap k of window i lies.
  int64_t at(int64_t i, int64_t k) const { return i * stride - padding + k * dilation; }
};

template <typename Options>
std::pair<Axis, Axis> axes_of(const Plane& plane, const Options& o, const Sides& dilation = 1) {
  const Axis width{plane.width, o.kernel.width, o.stride.width, o.padding.width, dilation.width};
  if (plane.height == 1) return {{1, 1, 1, 0, 1}, width};
  return {{plane.height, o.kernel.height, o.stride.height, o.padding.height, dilation.height}, width};
}

// Calls f(i, j, k, l) for each tap (k, l) of each window (i, j) that lies within the image.
template <typename F>
void each_tap(const Axis& h, const Axis& w, int64_t rows, int64_t columns, const Plane& image, F f) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < h.kernel; ++k)
        for (int64_t l = 0; l < w.kernel; ++l)
          if (const int64_t a = h.at(i, k), b = w.at(j, l); a >= 0 && a < image.height && b >= 0 && b < image.width)
            f(i, j, k * w.kernel + l, a * image.width + b);
}

// Returns a convolution by its definition: y[n, o, window] = bias[o] + sum over i, tap of w[o, i, tap] x[n, i', place],
// where i' is channel i of the group of o.
std::vector<double> naive_convolution(const Bindings& bindings, const Plane& plane, const ConvOptions& o) {
  const auto [h, w] = axes_of(plane, o, o.dilation);
  const int64_t inputs = kChannels / o.groups, taps = h.kernel * w.kernel, places = plane.height * plane.width;
  const int64_t rows = h.windows(), columns = w.windows();
  const std::vector<double>&x = bindings.at("x").data, &filters = bindings.at("conv.weight").data;
  std::vector<double> y;
  for (int64_t n = 0; n < kSamples; ++n)
    for (int64_t out = 0; out < kFilters; ++out) {
      std::vector<double> map(static_cast<size_t>(rows * columns),
                              bindings.at("conv.bias").data[static_cast<size_t>(out)]);
      for (int64_t in = 0; in < inputs; ++in) {
        const int64_t from = n * kChannels + out / (kFilters / o.groups) * inputs + in;
        each_tap(h, w, rows, columns, plane, [&](int64_t i, int64_t j, int64_t tap, int64_t place) {
          map[static_cast<size_t>(i * columns + j)] += filters[static_cast<size_t>((out * inputs + in) * taps + tap)] *
                                                       x[static_cast<size_t>(from * places + place)];
        });
      }
      y.insert(y.end(), map.begin(), map.end());
    }
  return y;
}

// Returns a transposed convolution by its definition: each element of x is spread over its window of y, by
// w[i, o, tap].
std::vector<double> naive_transposed(const Bindings& bindings, const Plane& plane, const TransposedConvOptions& o) {
  const auto [h, w] = axes_of(plane, o, o.dilation);
  const Plane image{h.transposed(o.output_padding.height), w.transposed(o.output_padding.width)};
  const int64_t outputs = kFilters / o.groups, taps = h.kernel * w.kernel, places = plane.height * plane.width;
  const std::vector<double>&x = bindings.at("x").data, &filters = bindings.at("conv.weight").data;
  std::vector<double> y;
  for (int64_t n = 0; n < kSamples; ++n)
    for (int64_t out = 0; out < kFilters; ++out) {
      std::vector<double> map(static_cast<size_t>(image.height * image.width),
                              bindings.at("conv.bias").data[static_cast<size_t>(out)]);
      const int64_t group = out / outputs, inputs = kChannels / o.groups;
      for (int64_t in = group * inputs; in < (group + 1) * inputs; ++in)
        each_tap(h, w, plane.height, plane.width, image, [&](int64_t i, int64_t j, int64_t tap, int64_t place) {
          map[static_cast<size_t>(place)] +=
              filters[static_cast<size_t>((in * outputs + out % outputs) * taps + tap)] *
              x[static_cast<size_t>((n * kChannels + in) * places + i * plane.width + j)];
        });
      y.insert(y.end(), map.begin(), map.end());
    }
  return y;
}

std::vector<double> naive_pool(const Array& x, const Plane& plane, PoolOptions o, bool max) {
  if (o.stride.width == 0) o.stride = o.kernel;
  const auto [h, w] = axes_of(plane, o);
  const int64_t rows = h.windows(), columns = w.windows();
  std::vector<double> y;
  for (int64_t map = 0; map < kSamples * kChannels; ++map) {
    std::vector<double> pooled(static_cast<size_t>(rows * columns), max ? -std::numeric_limits<double>::infinity() : 0);
    each_tap(h, w, rows, columns, plane, [&](int64_t i, int64_t j, int64_t, int64_t place) {
      const double value = x.data[static_cast<size_t>(map * plane.height * plane.width + place)];
      double& result = pooled[static_cast<size_t>(i * columns + j)];
      result = max ? std::max(result, value) : result + value / static_cast<double>(h.kernel * w.kernel);
    });
    y.insert(y.end(), pooled.begin(), pooled.end());
  }
  return y;
}

// Returns the input "x": a signal where the plane is a row, else an image.
Tensor plane_of(Graph& graph, const Plane& plane) {
  if (plane.height == 1) return input(graph, "x", DType::f64, {kSamples, kChannels, plane.width}, "NCL");
  return input(graph, "x", DType::f64, {kSamples, kChannels, plane.height, plane.width}, "NCHW");
}

bool is_square(const Sides& sides) { return sides.height == sides.width; }

void check_value(const Graph& graph, const Bindings& bindings, Tensor y, const std::vector<double>& expected) {
  const Value value = y.value();
  const Array got = interpret_values(graph, bindings, {&value, 1}).at(0);
  BOOST_REQUIRE(got.data.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) BOOST_TEST(got.data[i] == expected[i], kClose);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(windows)

BOOST_AUTO_TEST_CASE(a_convolution_is_its_definition) {
  for (const ConvOptions& options :
       {ConvOptions{.kernel = 3, .bias = true}, ConvOptions{.kernel = 5, .stride = 2, .padding = 2, .bias = true},
        ConvOptions{.kernel = 3, .padding = 3, .dilation = 3, .groups = 2, .bias = true},
        ConvOptions{.kernel = 1, .stride = 3, .groups = 4, .bias = true},
        ConvOptions{.kernel = {1, 7}, .padding = {0, 3}, .bias = true},
        ConvOptions{.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 4}, .bias = true}})
    for (const Plane& plane : kPlanes) {
      const bool line = plane.height == 1;
      if (line && !is_square(options.kernel)) continue;
      Graph graph;
      const Tensor x = plane_of(graph, plane);
      const Tensor y = line ? conv1d("conv", x, kFilters, options) : conv2d("conv", x, kFilters, options);
      const Bindings bindings = random_bindings(graph, 3);
      check_value(graph, bindings, y, naive_convolution(bindings, plane, options));
    }
}

BOOST_AUTO_TEST_CASE(a_transposed_convolution_is_its_definition) {
  for (const TransposedConvOptions& options :
       {TransposedConvOptions{.kernel = 3, .bias = true},
        TransposedConvOptions{.kernel = 4, .stride = 2, .padding = 1, .bias = true},
        TransposedConvOptions{.kernel = 3, .stride = 2, .output_padding = 1, .groups = 2, .bias = true},
        TransposedConvOptions{.kernel = {1, 3},
        .stride = {3, 2},
        .padding = {0, 1},
        .output_padding = {2, 0},
        .dilation = {1, 3},
        .groups = 4,
        .bias = true},
        TransposedConvOptions{
            .kernel = {3, 2}, .padding = {2, 0}, .output_padding = {2, 1}, .dilation = {4, 2}, .bias = true}}) {
    Graph graph;
    const Plane& plane = kPlanes[1];
    const Tensor y = conv_transpose2d("conv", plane_of(graph, plane), kFilters, options);
    const Bindings bindings = random_bindings(graph, 3);
    check_value(graph, bindings, y, naive_transposed(bindings, plane, options));
  }
}

BOOST_AUTO_TEST_CASE(pooling_is_its_definition) {
  for (const PoolOptions& options :
       {PoolOptions{.kernel = 2}, PoolOptions{.kernel = 3, .stride = 2, .padding = 1},
        PoolOptions{.kernel = 5, .stride = 1, .padding = 2}, PoolOptions{.kernel = {2, 5}, .padding = {1, 0}},
        PoolOptions{.kernel = {1, 3}, .stride = {2, 1}, .padding = {0, 1}}})
    for (const Plane& plane : kPlanes) {
      const bool line = plane.height == 1;
      if (line && !is_square(options.kernel)) continue;
      Graph graph;
      const Tensor x = plane_of(graph, plane), max = line ? max_pool1d(x, options) : max_pool2d(x, options);
      const Tensor average = line ? avg_pool1d(x, options) : avg_pool2d(x, options);
      const Bindings bindings = random_bindings(graph, 5);
      for (const bool greatest : {true, false})
        check_value(graph, bindings, greatest ? max : average, naive_pool(bindings.at("x"), plane, options, greatest));
    }
}

// The weight has PyTorch's order of axes: output channels, input channels of a group, length.
BOOST_AUTO_TEST_CASE(shapes_of_parameters_and_results) {
  Graph graph;
  const Tensor y = conv1d("conv", plane_of(graph, {1, 13}), 6, {.kernel = 5, .groups = 2, .bias = true});
  BOOST_TEST(to_string(graph.find_variable("conv.weight")->type) == "f64[O=6,I=2,L=5]");
  BOOST_TEST(to_string(y.type()) == "f64[N=2,C=6,L=9]");
  BOOST_TEST(to_string(batch_norm("bn", y).type()) == "f64[N=2,C=6,L=9]");
  BOOST_TEST(to_string(global_avg_pool(y).type()) == "f64[N=2,C=6]");
  BOOST_CHECK_THROW(conv1d("flat", global_avg_pool(y), 6, {}), Error);
  BOOST_CHECK_THROW(max_pool1d(global_avg_pool(y), {}), Error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::windows_test
