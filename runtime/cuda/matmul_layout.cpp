#include "runtime/cuda/matmul_layout.h"

namespace kb::cuda {
namespace {

// Returns a row-major matrix (rows, columns) as it is read column by column.
Matrix read_by_columns(int64_t rows, int64_t columns) { return {columns, rows, columns, rows * columns}; }

}  // namespace

MatmulLayout column_major(const MatmulSpec& s) {
  MatmulLayout layout;
  layout.first = s.transpose_b ? read_by_columns(s.n, s.k) : read_by_columns(s.k, s.n);
  layout.second = s.transpose_a ? read_by_columns(s.k, s.m) : read_by_columns(s.m, s.k);
  layout.d = read_by_columns(s.m, s.n);
  layout.transpose_first = s.transpose_b;
  layout.transpose_second = s.transpose_a;
  return layout;
}

}  // namespace kb::cuda
