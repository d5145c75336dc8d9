// The shape rules, one function for each class of op (infer_*.cpp), and the helpers that they share.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "graph/attrs.h"
#include "graph/error.h"
#include "graph/ops.h"
#include "graph/type.h"

namespace kb {

std::vector<Type> infer_leaf(Op op, std::span<const Type> in, const Attrs& attrs);
std::vector<Type> infer_pointwise(Op op, std::span<const Type> in, const Attrs& attrs);
std::vector<Type> infer_movement(Op op, std::span<const Type> in, const Attrs& attrs);
std::vector<Type> infer_reduction(Op op, std::span<const Type> in, const Attrs& attrs);
std::vector<Type> infer_window(Op op, std::span<const Type> in, const Attrs& attrs);
std::vector<Type> infer_indexed(Op op, std::span<const Type> in, const Attrs& attrs);
std::vector<Type> infer_library(Op op, std::span<const Type> in, const Attrs& attrs);
std::vector<Type> infer_flash_attention(std::span<const Type> in, const Attrs& attrs);
std::vector<Type> infer_flash_attention_grad(std::span<const Type> in, const Attrs& attrs);

// Returns the inputs as error texts show them: "a f32[N=2,C=3], b f32[4]". The first input of a select is "condition".
std::string operands_text(std::span<const Type> in, std::string_view op = "");
// Throws Mistake, with a hint at the cast that helps, unless all inputs have one dtype.
void check_same_dtype(std::span<const Type> in);
// Returns the numbers as error texts show them: "[2, 3]".
std::string ints_text(const Ints& values);
// Throws Mistake when i32 cannot number `count` elements, which the error calls `what`.
void check_i32_numbers(int64_t count, const std::string& what, const Type& x);
// Throws Mistake unless `axes` are sorted, distinct, and axes of x.
void check_axes(const Ints& axes, const Type& x);
void check_rank_at_least(const Type& x, int64_t rank, const char* expected);
void check_float(const Type& x, const char* hint);
void check_numbers(const Type& x);   // throws Mistake when x is boolean
void check_summable(const Type& x);  // throws Mistake when x is boolean or narrow, whose sums and products would wrap
void check_dtype(const Type& x, DType dtype, const std::string& role);
// Returns the dimension letters of `a`; those of `b` stand in for the ones that `a` lacks.
std::string merge_names(const std::string& a, const std::string& b);
// Returns the letter of an axis, '_' when it has none.
char letter(const Type& x, int64_t axis);
// Returns x's dimension letters without those of `axes`.
std::string names_without(const Type& x, const Ints& axes);

// The attributes of a window on [H, W]: kernel, stride, padding and dilation.
struct WindowAttrs {
  Ints kernel, stride, padding, dilation;
};
// Both throw Mistake unless each is a pair of numbers in its range.
void check_window(const WindowAttrs& window);
WindowAttrs read_window(const Attrs& attrs, const Ints& kernel);
// Returns the number of windows along H and W: (in + 2 padding - dilation (kernel - 1) - 1) / stride + 1. Throws
// Mistake when no window fits.
Ints windowed(const Ints& size, const WindowAttrs& window, const Type& x);

}  // namespace kb
