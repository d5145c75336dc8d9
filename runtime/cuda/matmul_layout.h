// Describes a row-major product to cuBLASLt, whose matrices are column-major: the same memory read column by column is
// the transposed matrix, and c^T = b^T a^T.
#pragma once
#include "runtime/library_spec.h"

namespace kb::cuda {

// Element (row, column) of matrix `i` of a batch is at i * batch_stride + column * leading + row.
struct Matrix {
  int64_t rows = 0, columns = 0, leading = 0, batch_stride = 0;
};

// d = op(first) op(second): `first` is the memory of b, `second` that of a, and d that of c. The bias runs along the
// columns of c, which are the rows of d, as cuBLASLt wants it.
struct MatmulLayout {
  Matrix first, second, d;
  bool transpose_first = false, transpose_second = false;
};

MatmulLayout column_major(const MatmulSpec& spec);

}  // namespace kb::cuda
