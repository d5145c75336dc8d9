// Compares products computed as cuBLASLt reads its column-major layouts with row-major products.
#include "runtime/cuda/matmul_layout.h"

#include <boost/test/unit_test.hpp>
#include <vector>

namespace kb::matmul_layout_test {

using namespace kb::cuda;

namespace {

using Reals = std::vector<double>;

double element(const Reals& data, const Matrix& m, bool transposed, int64_t i, int64_t row, int64_t column) {
  if (transposed) std::swap(row, column);
  BOOST_REQUIRE(row < m.rows && column < m.columns);
  return data.at(static_cast<size_t>(i * m.batch_stride + column * m.leading + row));
}

// Computes as cuBLASLt does with the layout: d(row, column) = sum of op(first)(row, k) op(second)(k, column).
Reals as_cublaslt(const MatmulSpec& spec, const MatmulLayout& layout, const Reals& first, const Reals& second) {
  Reals d(static_cast<size_t>(spec.batch * spec.m * spec.n), -1);
  const int64_t inner = layout.transpose_first ? layout.first.rows : layout.first.columns;
  for (int64_t i = 0; i < spec.batch; ++i)
    for (int64_t column = 0; column < layout.d.columns; ++column)
      for (int64_t row = 0; row < layout.d.rows; ++row) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k)
          sum += element(first, layout.first, layout.transpose_first, i, row, k) *
                 element(second, layout.second, layout.transpose_second, i, k, column);
        d.at(static_cast<size_t>(i * layout.d.batch_stride + column * layout.d.leading + row)) = sum;
      }
  return d;
}

Reals by_rows(const MatmulSpec& s, const Reals& a, const Reals& b) {
  Reals c;
  for (int64_t i = 0; i < s.batch; ++i)
    for (int64_t m = 0; m < s.m; ++m)
      for (int64_t n = 0; n < s.n; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < s.k; ++k)
          sum += a[static_cast<size_t>(i * s.m * s.k + (s.transpose_a ? k * s.m + m : m * s.k + k))] *
                 b[static_cast<size_t>(i * s.k * s.n + (s.transpose_b ? n * s.k + k : k * s.n + n))];
        c.push_back(sum);
      }
  return c;
}

Reals numbers(int64_t count, int64_t step) {
  Reals values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i * step % 17 - 8));
  return values;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_matmul_layout)

BOOST_AUTO_TEST_CASE(column_major_layouts_give_the_row_major_product) {
  for (const int64_t batch : {1, 3})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {2, 3, 5}, {7, 1, 4}, {1, 6, 2}, {5, 4, 1}}) {
          const MatmulSpec spec{
              .batch = batch, .m = m, .n = n, .k = k, .transpose_a = transpose_a, .transpose_b = transpose_b};
          const Reals a = numbers(batch * m * k, 5), b = numbers(batch * k * n, 7);
          BOOST_TEST(as_cublaslt(spec, column_major(spec), b, a) == by_rows(spec, a, b));
        }
}

// Along the rows of d, where cuBLASLt adds the bias, lie the columns of c.
BOOST_AUTO_TEST_CASE(the_bias_lies_along_the_rows) { BOOST_TEST(column_major({.m = 4, .n = 9, .k = 2}).d.rows == 9); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::matmul_layout_test
