// The rows of compiler/layout_table.cpp as text: which block measured times speak for, the source line that says so,
// and the table's source with such lines in it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/dtype.h"

namespace kb {

struct LayoutChoice {
  DType dtype;
  int64_t block;  // 0: NHWC
};

// The block of the least time, by block in milliseconds; the committed one where that is within 2 % of it, so that
// noise does not change what a program computes. Throws InternalError where nothing was measured.
int64_t choose_block(const std::map<int64_t, double>& times, int64_t committed);

// The row as the source has it: {"avx512", DType::f32, 16},
std::string layout_row(const std::string& isa, const LayoutChoice& choice);

// `source` with the rows of `isa` for the choices' dtypes replaced; rows that are missing follow the last of the same
// isa, or all others. Everything else stays as it is. Throws Error where there is no table kLayouts.
std::string with_layout_rows(const std::string& source, const std::string& isa,
                             const std::vector<LayoutChoice>& choices);

}  // namespace kb
