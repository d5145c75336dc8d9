// Tests random numbers against formulas in double over the bits of their streams, and against their moments.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>

#include "graph/functions.h"
#include "graph/interpreter.h"

namespace kb::random_test {
namespace {

using Reals = std::vector<double>;

Reals drawn(Tensor x) {
  Bindings bindings;
  for (const char* scalar : {"step", "worker", "seed"}) bindings[scalar] = {{DType::u32, {}, ""}, {3}};
  const Value value = x.value();
  return interpret_values(x.graph(), bindings, {&value, 1}).front().data;
}

// Returns the uniform numbers of a stream of [64, 256].
Reals units(const std::string& stream) {
  Graph graph;
  Reals result = drawn(random_bits(graph, stream, {64, 256}));
  for (double& bits : result) bits = std::floor(bits / 256) / 16777216;
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_numbers)

BOOST_AUTO_TEST_CASE(uniform_ones_are_the_upper_bits) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Graph graph;
    const Reals got = drawn(random_uniform(graph, "u", {64, 256}, dtype));
    BOOST_TEST(got == units("u"));
    BOOST_TEST((*std::min_element(got.begin(), got.end()) >= 0 && *std::max_element(got.begin(), got.end()) < 1));
  }
}

// Box and Muller 1958.
BOOST_AUTO_TEST_CASE(normal_ones_are_made_of_two_uniform_ones) {
  const Reals u = units("z"), angle = units("z.angle");
  Graph graph;
  const Reals got = drawn(random_normal(graph, "z", {64, 256}, DType::f64));
  double powers[5] = {};
  for (size_t i = 0; i < got.size(); ++i) {
    const double expected = std::sqrt(-2 * std::log(1 - u[i])) * std::cos(2 * std::numbers::pi * angle[i]);
    BOOST_REQUIRE(std::abs(got[i] - expected) <= 1e-12);
    for (int p = 1; p < 5; ++p) powers[p] += std::pow(got[i], p) / static_cast<double>(got.size());
  }
  // Four standard deviations of the moments of 16384 numbers.
  BOOST_TEST(std::abs(powers[1]) < 4 * std::sqrt(1.0 / 16384));
  BOOST_TEST(std::abs(powers[2] - 1) < 4 * std::sqrt(2.0 / 16384));
  BOOST_TEST(std::abs(powers[3]) < 4 * std::sqrt(15.0 / 16384));
  BOOST_TEST(std::abs(powers[4] - 3) < 4 * std::sqrt(96.0 / 16384));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::random_test
