// Helpers of tests that look at the values which the graph interpreter gives.
#pragma once
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>
#include <set>
#include "graph/functions.h"
#include "graph/interpreter.h"
#include "graph/layers.h"
#include "tests/support/random_graph.h"

namespace kb::interpreter_test {

using Reals = std::vector<double>;

inline Array array(Dims shape, Reals data, DType dtype = DType::f64) {
  return {{dtype, std::move(shape), ""}, std::move(data)};
}

// Returns x[i] = sin(1.7 i + 0.3): distinct numbers of both signs.
inline Array wave(Dims shape, DType dtype = DType::f64) {
  Array a = array(std::move(shape), {}, dtype);
  for (int64_t i = 0; i < a.type.elements(); ++i) a.data.push_back(std::sin(1.7 * static_cast<double>(i) + 0.3));
  return a;
}

// A graph whose inputs "a", "b", ... have the types of the given arrays and are bound to them.
struct Case {
  Graph graph{"case"};
  Bindings bindings;
  std::vector<Tensor> x;
  explicit Case(const std::vector<Array>& arrays) {
    for (const Array& a : arrays) {
      const std::string name(1, static_cast<char>('a' + x.size()));
      x.push_back(input(graph, name, a.type.dtype, a.type.shape, ""));
      bindings[name] = a;
    }
  }
  Array value(const Tensor& t, const InterpretOptions& options = {}) const {
    const Value v = t.value();
    return interpret_values(graph, bindings, std::span(&v, 1), options)[0];
  }
  void check(const Tensor& t, const Dims& shape, const Reals& expected, double tolerance = 1e-12) const {
    const Array got = value(t);
    BOOST_TEST(got.type.shape == shape);
    BOOST_REQUIRE_EQUAL(got.data.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) BOOST_TEST(std::abs(got.data[i] - expected[i]) <= tolerance);
  }
};

inline double dot(const Array& a, const Array& b) {
  return std::inner_product(a.data.begin(), a.data.end(), b.data.begin(), 0.0);
}

}  // namespace kb::interpreter_test
