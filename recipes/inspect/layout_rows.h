// The rows of compiler/passes/layout_table.cpp as text: which block measured times speak for, the source line that says
// so, and the table's source with such lines in it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/dtype.h"

namespace kb {

// Blocks that a row may name; 0: NHWC.
inline constexpr int64_t kLayoutBlocks[] = {0, 8, 16};

// Milliseconds of the same convolutions by block.
using LayoutTimes = std::map<int64_t, double>;

struct LayoutChoice {
  DType dtype;
  int64_t block;
};

// The block of the least time; the committed one where that is within 2 % of it, so that noise does not change what a
// program computes. Throws InternalError where nothing was measured.
int64_t choose_block(const LayoutTimes& times, int64_t committed);

// A line that names the row for `library_isa` with which the convolutions of a program would be faster by more than
// 10 % than with the committed one; empty where there is none.
std::string faster_row_note(const std::string& library_isa, DType dtype, const LayoutTimes& times, int64_t committed);

// The row of an instruction set of the library as the source has it: {"amx", DType::bf16, 0},
std::string layout_row(const std::string& isa, const LayoutChoice& choice);

// `source` with the rows of `isa` for the choices' dtypes replaced; rows that are missing follow the last of the same
// isa, or all others. Everything else stays as it is. Throws Error where there is no table kLayouts.
std::string with_layout_rows(const std::string& source, const std::string& isa,
                             const std::vector<LayoutChoice>& choices);

}  // namespace kb
