// Tests topk and sort beside a stable sort of the standard library.
#include <limits>

#include "tests/graph/interpreted.h"

namespace kb::interpreter_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
const std::vector<Reals> kRows = {{3, 1, 2, 0},
                                  {1, 1, 1, 1},
                                  {0, 2, -1, 2},
                                  {-kInf, kInf, -kInf, 5},
                                  {-kInf, -kInf, -kInf, -kInf},
                                  {kNan, 3, kNan, kInf},
                                  {kNan, kNan, kNan, -kInf}};

Array all_rows() {
  Array x = array({static_cast<int64_t>(kRows.size()), 4}, {});
  for (const Reals& row : kRows) x.data.insert(x.data.end(), row.begin(), row.end());
  return x;
}

// Returns the places of a row's elements in a stable order, in which NaN is the greatest.
std::vector<size_t> order_of(const Reals& row, bool descending) {
  std::vector<size_t> order(row.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return descending ? less(row[b], row[a]) : less(row[a], row[b]); });
  return order;
}

// Checks the first k elements of each row in its order.
void check_ordered(const Case& c, Tensor value, Tensor index, int64_t k, bool descending) {
  Reals values, places;
  for (const Reals& row : kRows)
    for (size_t i = 0; i < static_cast<size_t>(k); ++i) {
      const size_t place = order_of(row, descending)[i];
      values.push_back(row[place]);
      places.push_back(static_cast<double>(place));
    }
  BOOST_TEST(c.value(index).data == places);
  const Reals got = c.value(value).data;
  BOOST_TEST_REQUIRE(got.size() == values.size());
  for (size_t i = 0; i < got.size(); ++i)
    BOOST_TEST((got[i] == values[i] || (std::isnan(got[i]) && std::isnan(values[i]))));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ordered)

BOOST_AUTO_TEST_CASE(the_k_greatest_along_an_axis) {
  const Case c({all_rows()});
  for (int64_t k = 1; k <= 4; ++k) {
    const TopK top = topk(c.x[0], k), of_columns = topk(transpose(c.x[0], {1, 0}), k, 0);
    check_ordered(c, top.value, top.index, k, true);
    check_ordered(c, transpose(of_columns.value, {1, 0}), transpose(of_columns.index, {1, 0}), k, true);
  }
}

BOOST_AUTO_TEST_CASE(a_sorted_axis) {
  const Case c({all_rows()});
  for (const bool descending : {false, true}) {
    const Sorted sorted = sort(c.x[0], -1, descending), of_columns = sort(transpose(c.x[0], {1, 0}), 0, descending);
    check_ordered(c, sorted.value, sorted.index, 4, descending);
    check_ordered(c, transpose(of_columns.value, {1, 0}), transpose(of_columns.index, {1, 0}), 4, descending);
  }
}

BOOST_AUTO_TEST_CASE(integers) {
  Case c({});
  const Tensor bytes = constant(c.graph, DType::u8, {4}, {0, 9, 0, 255}),
               signs = constant(c.graph, DType::i32, {2}, {-3, -2});
  BOOST_TEST((topk(bytes, 4).value.dtype() == DType::u8 && sort(bytes).value.dtype() == DType::u8));
  c.check(topk(bytes, 4).value, {4}, {255, 9, 0, 0});
  c.check(topk(bytes, 4).index, {4}, {3, 1, 0, 2});
  c.check(topk(signs, 2).value, {2}, {-2, -3});
  c.check(sort(bytes).value, {4}, {0, 0, 9, 255});
  c.check(sort(bytes).index, {4}, {0, 2, 1, 3});
  c.check(sort(signs, 0, true).value, {2}, {-2, -3});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::interpreter_test
