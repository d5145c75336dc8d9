// Tests the pass that turns a GPU's convolutions of stride 2 over images of few channels into convolutions of stride 1
// over four times as many channels and a quarter of the pixels, with equal values.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "graph/functions.h"
#include "tests/compiler/passes/checked_pass.h"

namespace kb::space_to_depth_test {

namespace {

struct Shape {
  int64_t channels = 3, height = 12, width = 12, kernel = 7, padding = 3;
  int64_t stride = 2, dilation = 1, groups = 1;
  DType dtype = DType::bf16;
};

Graph convolution_of(const Shape& s) {
  Graph graph("convolution");
  const Window window{{s.kernel, s.kernel}, {s.stride, s.stride}, {s.padding, s.padding}, {s.dilation, s.dilation}};
  const Tensor x = input(graph, "x", s.dtype, {2, s.channels, s.height, s.width}, "NCHW");
  const Tensor w = input(graph, "w", s.dtype, {4, s.channels / s.groups, s.kernel, s.kernel}, "OIHW");
  const Tensor y = convolution(x, w, window, s.groups);
  const Tensor dw = convolution_weight_grad(x, cast(y * y, s.dtype), window, s.groups);
  graph.outputs.push_back({"y", y.value(), Merge::per_sample});
  graph.outputs.push_back({"dw", dw.value(), Merge::sum});
  return graph;
}

// Returns the number of convolutions and weight gradients of stride 1 after the pass, and checks that it keeps all
// values.
int64_t folded(const Shape& shape, const Target& target) {
  const Graph after = test::checked_pass("space_to_depth", space_to_depth, convolution_of(shape), target);
  return std::count_if(after.nodes.begin(), after.nodes.end(), [](const Node& node) {
    return (node.op == Op::conv2d || node.op == Op::conv2d_weight_grad) && node.attrs.ints("stride") == Ints{1, 1};
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(space_to_depth_pass)

BOOST_AUTO_TEST_CASE(images_of_few_channels_are_folded) {
  const Target gpu = gpu_target("sm_90");
  int64_t seen = 0;
  for (const int64_t channels : {1, 3, 4})
    for (const int64_t kernel : {3, 4, 7})
      for (int64_t padding = 0; padding <= kernel / 2; ++padding)
        for (const int64_t height : {9, 10, 11}) {
          const Shape shape{.channels = channels, .height = height, .kernel = kernel, .padding = padding};
          BOOST_TEST_CONTEXT(
              fmt::format("{} channels, kernel {}, padding {}, height {}", channels, kernel, padding, height))
          // The pass leaves an image alone whose last row is not read.
          if (const int64_t count = folded(shape, gpu); count > 0) {
            BOOST_TEST(count == 2);
            ++seen;
          }
        }
  BOOST_TEST(seen >= 60);
  BOOST_TEST(folded({.dtype = DType::f16}, gpu) == 2);
  BOOST_TEST(folded({.height = 224, .width = 16}, gpu) == 2);
}

BOOST_AUTO_TEST_CASE(all_others_stay) {
  const Target gpu = gpu_target("sm_90");
  BOOST_TEST(folded({}, generic_cpu_target()) == 0);
  BOOST_TEST(folded({.dtype = DType::f32}, gpu) == 0);
  BOOST_TEST(folded({.channels = 5}, gpu) == 0);
  BOOST_TEST(folded({.kernel = 2, .padding = 0}, gpu) == 0);
  BOOST_TEST(folded({.kernel = 3, .padding = 2, .dilation = 2}, gpu) == 0);
  BOOST_TEST(folded({.channels = 4, .groups = 2}, gpu) == 0);
  BOOST_TEST(folded({.stride = 3}, gpu) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::space_to_depth_test
