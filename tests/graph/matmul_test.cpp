// Tests the matrix product whose leading extents broadcast against plain loops in double.
#include "tests/graph/interpreted.h"

namespace kb::matmul_test {
namespace {

using interpreter_test::Case;
using interpreter_test::Reals;
using interpreter_test::wave;

// Returns the position of the matrix at index `at` of the leading extents `all` in an operand, whose extents are
// aligned right and may be 1.
int64_t matrix_number(const Dims& operand, const Dims& all, int64_t at) {
  int64_t number = 0, step = 1;
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t index = at % all[all.size() - 1 - i];
    at /= all[all.size() - 1 - i];
    if (operand.size() < i + 3) continue;
    const int64_t extent = operand[operand.size() - 3 - i];
    number += extent == 1 ? 0 : index * step;
    step *= extent;
  }
  return number;
}

// Returns a b for operands [..., T, K] and [..., K, M], each transposed in its last two axes by its flag.
Reals plain_product(const Array& a, const Array& b, bool ta, bool tb, const Dims& leading) {
  const Dims &da = a.type.shape, &db = b.type.shape;
  const int64_t rows = da.end()[ta ? -1 : -2], inner = da.end()[ta ? -2 : -1], columns = db.end()[tb ? -2 : -1];
  const auto at = [](const Array& x, int64_t matrix, int64_t row, int64_t column, bool transposed) {
    const int64_t height = x.type.shape.end()[-2], width = x.type.shape.end()[-1];
    if (transposed) std::swap(row, column);
    return x.data[static_cast<size_t>((matrix * height + row) * width + column)];
  };
  Reals result;
  for (int64_t m = 0; m < element_count(leading); ++m)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (int64_t i = 0; i < inner; ++i)
          sum += at(a, matrix_number(da, leading, m), row, i, ta) * at(b, matrix_number(db, leading, m), i, column, tb);
        result.push_back(sum);
      }
  return result;
}

struct Leading {
  Dims a, b, both;
};

const Leading kLeading[] = {{{2, 3}, {}, {2, 3}},           {{}, {3}, {3}},           {{1, 3}, {2, 3}, {2, 3}},
                            {{2, 3}, {1, 3}, {2, 3}},       {{2, 3}, {2, 1}, {2, 3}}, {{2, 3}, {3}, {2, 3}},
                            {{3}, {2, 1}, {2, 3}},          {{}, {1}, {1}},           {{1}, {}, {1}},
                            {{2, 1, 3}, {4, 1}, {2, 4, 3}}, {{2, 2}, {2, 2}, {2, 2}}};

}  // namespace

BOOST_AUTO_TEST_SUITE(matmul)

BOOST_AUTO_TEST_CASE(leading_extents_broadcast) {
  for (const Leading& leading : kLeading)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        Dims of_a = leading.a, of_b = leading.b, expected = leading.both;
        of_a.insert(of_a.end(), {ta ? 5 : 2, ta ? 2 : 5});
        of_b.insert(of_b.end(), {tb ? 3 : 5, tb ? 5 : 3});
        expected.insert(expected.end(), {2, 3});
        const Case c({wave(of_a), wave(of_b)});
        c.check(kb::matmul(c.x[0], c.x[1], ta, tb), expected,
                plain_product(wave(of_a), wave(of_b), ta, tb, leading.both));
      }
}

// A matrix on the right is one operand of one product of two matrices: nothing is broadcast.
BOOST_AUTO_TEST_CASE(one_matrix_multiplies_all_rows_at_once) {
  for (const bool ta : {false, true}) {
    const Case c({wave(ta ? Dims{2, 3, 5, 4} : Dims{2, 3, 4, 5}), wave({5, 6})});
    kb::matmul(c.x[0], c.x[1], ta);
    for (const Node& node : c.graph.nodes) {
      BOOST_TEST((node.op != Op::broadcast));
      if (node.op == Op::matmul) BOOST_TEST((node.type().shape == Dims{24, 6}));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::matmul_test
