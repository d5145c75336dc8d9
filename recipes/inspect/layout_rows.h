// Chooses rows of compiler/passes/layout_table.cpp from measured times, and writes them into the source of the table.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/dtype.h"

namespace kb {

// Blocks of channels that a row may name; 0 stands for NHWC.
inline constexpr int64_t kLayoutBlocks[] = {0, 8, 16};

// Milliseconds of the same convolutions for each block.
using LayoutTimes = std::map<int64_t, double>;

struct LayoutChoice {
  DType dtype;
  int64_t block;
};

// Returns the block of the least time, or the committed one if that is within 2 % of it, so that noise does not change
// what a program computes. Throws InternalError if nothing was measured.
int64_t choose_block(const LayoutTimes& times, int64_t committed);

// Returns a line that names the row for `library_isa` with which the convolutions of a program would be faster by more
// than 10 % than with the committed one; empty if there is none.
std::string faster_row_note(const std::string& library_isa, DType dtype, const LayoutTimes& times, int64_t committed);

// Returns the row of an instruction set of the library as the source has it: {"amx", DType::bf16, 0},
std::string layout_row(const std::string& isa, const LayoutChoice& choice);

// Returns `source` with the rows of `isa` for the choices' dtypes replaced. A row that is missing is added after the
// last one of that isa, or after all others. All other lines stay as they are. Throws Error if there is no table
// kLayouts.
std::string with_layout_rows(const std::string& source, const std::string& isa,
                             const std::vector<LayoutChoice>& choices);

}  // namespace kb
