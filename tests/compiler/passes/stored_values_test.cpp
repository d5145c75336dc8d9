// Tests which values live in memory between launches, before fusion decides it.
#include "compiler/passes/stored_values.h"

#include <boost/test/unit_test.hpp>
#include <functional>

#include "graph/functions.h"

namespace kb::stored_values_test {

namespace {

Tensor in(Graph& graph, const char* name, const Dims& shape = {6, 8}) { return input(graph, name, DType::f32, shape); }

// Returns whether `make`, which makes a value of a graph, makes one that is stored if `read` reads it.
bool is_stored(const std::function<Tensor(Graph&)>& make, const std::function<Tensor(Tensor)>& read) {
  Graph graph("g");
  const Tensor v = make(graph);
  graph.outputs.push_back({"y", read(v).value(), Merge::sum});
  return stored_values(graph)[static_cast<size_t>(v.value().node)] != 0;
}

Tensor product_of_two(Graph& graph) { return in(graph, "a") * in(graph, "b"); }

// Two readers, the second in a launch behind the first one's.
Tensor columns(Tensor v) { return v - sum(v, {0}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(stored_values_of_graphs)

BOOST_AUTO_TEST_CASE(what_a_call_reads_is_stored) {
  const auto image = [](Graph& graph) { return neg(in(graph, "x", {2, 3, 4, 4})); };
  BOOST_TEST(is_stored(image, [](Tensor v) { return max_pool2d(v, {.kernel = 2}); }));
  BOOST_TEST(is_stored(image, [](Tensor v) { return convolution(v, in(v.graph(), "w", {5, 3, 1, 1}), {{1, 1}}); }));
  BOOST_TEST(is_stored(image, [](Tensor v) { return matmul(reshape(v, {6, 16}), in(v.graph(), "w", {16, 2})); }));
  BOOST_TEST(!is_stored(image, [](Tensor v) { return max_pool2d(neg(v), {.kernel = 2}); }));
}

// Readers in one launch take the value from registers; so do those on both sides of a row's sum.
BOOST_AUTO_TEST_CASE(what_readers_in_several_launches_read_is_stored) {
  BOOST_TEST(is_stored(product_of_two, columns));
  BOOST_TEST(is_stored(product_of_two, [](Tensor v) {
    const Tensor halves = reshape(v, {12, 4});
    return halves - sum(halves, {0});
  }));
  BOOST_TEST(is_stored(product_of_two, [](Tensor v) {
    const Tensor at = input(v.graph(), "at", DType::i32, {6});
    return v * gather(scatter_add(at, v, 3), at);
  }));
  BOOST_TEST(!is_stored(product_of_two, [](Tensor v) { return v - sum(v, {1}, true); }));
  BOOST_TEST(is_stored(product_of_two, [](Tensor v) { return transpose(v, {1, 0}) * reshape(sum(v, {0}), {8, 1}); }));
  BOOST_TEST(!is_stored(product_of_two, [](Tensor v) { return columns(neg(v)); }));
  BOOST_TEST(!is_stored(product_of_two, [](Tensor v) { return v * v; }));
  BOOST_TEST(!is_stored(product_of_two, [](Tensor v) { return sum(v, {0}); }));
}

// A value that follows from one large one without a math function is computed again.
BOOST_AUTO_TEST_CASE(what_is_cheap_is_not_stored) {
  BOOST_TEST(!is_stored([](Graph& graph) { return neg(in(graph, "a")); }, columns));
  BOOST_TEST(!is_stored([](Graph& graph) { return in(graph, "a") * in(graph, "b", {8}); }, columns));
  BOOST_TEST(!is_stored([](Graph& graph) { return in(graph, "a") * full_like(in(graph, "b"), 2); }, columns));
  BOOST_TEST(is_stored([](Graph& graph) { return exp(in(graph, "a")); }, columns));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::stored_values_test
