// Tests which sums and relus a library call takes inside.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "compiler/fuse/fuse.h"
#include "graph/layers.h"
#include "tests/support/compile_check.h"

namespace kb::epilogue_test {

using namespace kb::test;

namespace {

// The launches of a matmul (8, 12) x (12, channels) and of what `finish` makes of its result; its values are checked.
struct Product {
  Graph graph{"layer"};

  Tensor in(const char* name, const Dims& shape, DType dtype = DType::f32) { return input(graph, name, dtype, shape); }
  Tensor of(int64_t channels = 16, DType dtype = DType::f32) {
    return matmul(in("x", {8, 12}, dtype), in("w", {12, channels}, dtype));
  }
  std::vector<Group> launches(Tensor y, const Target& target = generic_cpu_target()) {
    graph.outputs.push_back({"y", y.value(), Merge::per_sample});
    CheckOptions options;
    options.target = target;
    options.tolerance = 1e-2;
    const Compiled compiled = check_compiled(graph, options);
    const Graph& fused = *compiled.program.at(PartRole::final).graph;
    return fuse(fused, target);
  }
};

const Group& call_of(const std::vector<Group>& groups) {
  return *std::ranges::find(groups, FusionClass::library, &Group::cls);
}

bool takes_bias(const std::vector<Group>& groups) { return call_of(groups).epilogue.bias.valid(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(epilogue)

BOOST_AUTO_TEST_CASE(bias_and_relu_join_the_library_call) {
  for (const int64_t channels : {16, 1}) {
    for (const bool bias_first : {false, true}) {
      Product p;
      const Tensor y = p.of(channels), b = p.in("b", {channels});
      const std::vector<Group> groups = p.launches(relu(bias_first ? b + y : y + b));
      BOOST_TEST(groups.size() == 1u);
      BOOST_TEST(takes_bias(groups));
      BOOST_TEST(call_of(groups).epilogue.relu);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_convolution_takes_bias_and_relu_in_every_layout) {
  for (const char* isa : {"avx512", "portable", "generic"}) {
    Product p;
    const Tensor y = conv2d("conv", p.in("x", {2, 16, 4, 4}), 32, {.kernel = 3, .bias = true});
    Target target = generic_cpu_target();
    target.library_isa = isa;
    const std::vector<Group> groups = p.launches(mean(relu(y), {2, 3}), target);
    BOOST_TEST(takes_bias(groups));
    BOOST_TEST(call_of(groups).epilogue.relu);
  }
}

// A relu stays outside of a GPU's library call, because the libraries do not promise that it keeps NaN.
BOOST_AUTO_TEST_CASE(relu_stays_outside_on_a_gpu) {
  Product p;
  const std::vector<Group> groups = p.launches(relu(p.of() + p.in("b", {16})), gpu_target("sm_90"));
  BOOST_TEST(groups.size() == 2u);
  BOOST_TEST(takes_bias(groups));
  BOOST_TEST(!call_of(groups).epilogue.relu);
}

BOOST_AUTO_TEST_CASE(what_is_no_bias_in_memory_stays_outside) {
  const auto takes = [](const std::function<Tensor(Product&)>& make) {
    Product p;
    const Tensor y = make(p);
    return takes_bias(p.launches(y));
  };
  BOOST_TEST(!takes([](Product& p) { return p.of() + p.in("b", {8, 16}); }));
  BOOST_TEST(!takes([](Product& p) { return p.of() + p.in("b", {8, 1}); }));
  BOOST_TEST(!takes([](Product& p) { return p.of() + p.in("b", {1}); }));
  BOOST_TEST(!takes([](Product& p) { return p.of() + neg(p.in("b", {16})); }));
  BOOST_TEST(!takes([](Product& p) { return p.of() - p.in("b", {16}); }));
  BOOST_TEST(!takes([](Product& p) {
    const Tensor y = p.of();
    return y + y;
  }));
  BOOST_TEST(!takes([](Product& p) { return matmul(p.in("x", {2, 16, 3}), p.in("w", {2, 3, 16})) + p.in("b", {16}); }));
  BOOST_TEST(!takes([](Product& p) {
    return matmul(p.in("x", {2, 16, 3}), p.in("w", {2, 3, 16})) + p.in("b", {16, 1});
  }));
  // Libraries read a bias in f32 or f64 only.
  BOOST_TEST(!takes([](Product& p) { return p.of(16, DType::bf16) + p.in("b", {16}, DType::bf16); }));
}

BOOST_AUTO_TEST_CASE(a_result_read_twice_keeps_its_library_call_bare) {
  Product p;
  const Tensor y = p.of();
  p.graph.outputs.push_back({"bare", y.value(), Merge::per_sample});
  const std::vector<Group> groups = p.launches(relu(y));
  BOOST_TEST(groups.size() == 2u);
  BOOST_TEST(!call_of(groups).epilogue.relu);
}

// A bias that is computed before the product is in memory. The launch of one that is computed behind it may take in
// what reads the call's result, for which the call would have to wait.
BOOST_AUTO_TEST_CASE(a_computed_bias) {
  for (const bool before : {true, false}) {
    Product p;
    const Tensor v = p.in("v", {16}), early = before ? sqrt(v) : Tensor(), y = p.of();
    const Tensor b = before ? early : sqrt(v), z = y + b;
    p.graph.outputs.push_back({"row", (tanh(v) * reshape(slice(z, 0, 0, 1), {16})).value(), Merge::sum});
    BOOST_TEST(takes_bias(p.launches(z)) == before);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::epilogue_test
