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

Array array_of(const std::vector<Reals>& rows, DType dtype = DType::f64) {
  Array x = array({static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())}, {}, dtype);
  for (const Reals& row : rows) x.data.insert(x.data.end(), row.begin(), row.end());
  return x;
}

// Returns rows that sort() sorts by the digits of their keys, with many equal elements, of numbers that `dtype` holds.
std::vector<Reals> long_rows(DType dtype, size_t extent = 150) {
  const Reals edges = {kNan, kInf, -kInf, 0.0, -0.0, -kNan, 0x1p-126, -0x1p-126, 0x1p-149, -0x1p-149, 0x1.fffffep127};
  std::vector<Reals> rows(3, Reals(extent));
  uint32_t bits = 1;
  for (Reals& row : rows)
    for (double& x : row) {
      bits = bits * 1664525 + 1013904223;
      const uint32_t number = bits >> 8;
      if (!is_float(dtype))
        x = number % 3 == 0 ? static_cast<double>(least(dtype))
                            : static_cast<double>(wrap(dtype, bits >> (number % 32)));
      else if (number % 4 == 0)
        x = edges[number / 4 % edges.size()];
      else
        x = std::ldexp(static_cast<double>(number % 64) - 32, static_cast<int>(number / 64 % 24) - 12);
      x = round_to(dtype, x);
    }
  return rows;
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
void check_ordered(const Case& c, const std::vector<Reals>& rows, Tensor value, Tensor index, int64_t k,
                   bool descending) {
  Reals values, places;
  for (const Reals& row : rows) {
    std::vector<size_t> order = order_of(row, descending);
    order.resize(static_cast<size_t>(k));
    for (const size_t place : order) {
      values.push_back(row[place]);
      places.push_back(static_cast<double>(place));
    }
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
  const Case c({array_of(kRows)});
  for (int64_t k = 1; k <= 4; ++k) {
    const TopK top = topk(c.x[0], k), of_columns = topk(transpose(c.x[0], {1, 0}), k, 0);
    check_ordered(c, kRows, top.value, top.index, k, true);
    check_ordered(c, kRows, transpose(of_columns.value, {1, 0}), transpose(of_columns.index, {1, 0}), k, true);
  }
}

BOOST_AUTO_TEST_CASE(a_sorted_axis) {
  const Case c({array_of(kRows)});
  for (const bool descending : {false, true}) {
    const Sorted sorted = sort(c.x[0], -1, descending), of_columns = sort(transpose(c.x[0], {1, 0}), 0, descending);
    check_ordered(c, kRows, sorted.value, sorted.index, 4, descending);
    check_ordered(c, kRows, transpose(of_columns.value, {1, 0}), transpose(of_columns.index, {1, 0}), 4, descending);
  }
}

BOOST_AUTO_TEST_CASE(long_axes) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::u32, DType::u8}) {
    const std::vector<Reals> rows = long_rows(dtype);
    const auto extent = static_cast<int64_t>(rows[0].size());
    const Case c({array_of(rows, dtype)});
    BOOST_TEST_CONTEXT(name(dtype)) {
      for (const bool descending : {false, true}) {
        const Sorted sorted = sort(c.x[0], 1, descending), of_columns = sort(transpose(c.x[0], {1, 0}), 0, descending);
        check_ordered(c, rows, sorted.value, sorted.index, extent, descending);
        check_ordered(c, rows, transpose(of_columns.value, {1, 0}), transpose(of_columns.index, {1, 0}), extent,
                      descending);
      }
      const TopK top = topk(c.x[0], 20);
      check_ordered(c, rows, top.value, top.index, 20, true);
    }
  }
}

// The rows are so long that their blocks are looked for, and the blocks that k elements lie in.
BOOST_AUTO_TEST_CASE(few_elements_of_a_long_axis) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::u8}) {
    const std::vector<Reals> rows = long_rows(dtype, 1000);
    const Case c({array_of(rows, dtype)});
    const TopK top = topk(c.x[0], 12), of_columns = topk(transpose(c.x[0], {1, 0}), 9, 0);
    BOOST_TEST_CONTEXT(name(dtype)) {
      check_ordered(c, rows, top.value, top.index, 12, true);
      check_ordered(c, rows, transpose(of_columns.value, {1, 0}), transpose(of_columns.index, {1, 0}), 9, true);
    }
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
