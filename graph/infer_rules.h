// The shape rules by class of op (infer_*.cpp), and the words that they share.
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

// "a f32[N=2,C=3], b f32[4]"; a select's first one is "condition".
std::string operands_text(std::span<const Type> in, std::string_view op = "");
// Throws Mistake, with the cast that helps, unless all have one dtype.
void check_same_dtype(std::span<const Type> in);
// "[2, 3]".
std::string ints_text(const Ints& values);
// Throws Mistake where an i32 does not number `count` of these.
void check_i32_numbers(int64_t count, const std::string& what, const Type& x);
// Throws Mistake unless `axes` are sorted, distinct, and axes of a tensor of `rank`.
void check_axes(const Ints& axes, const Type& x);
void check_rank_at_least(const Type& x, int64_t rank, const char* expected);
void check_float(const Type& x, const char* hint);
void check_numbers(const Type& x);  // no booleans
void check_dtype(const Type& x, DType dtype, const std::string& role);
// Letters of `a`, completed by those of `b` where `a` has none.
std::string merge_names(const std::string& a, const std::string& b);
// The letter of an axis, '_' when unnamed.
char letter(const Type& x, int64_t axis);
// `x`'s names without `axes`.
std::string names_without(const Type& x, const Ints& axes);

// A window on [H, W]: attributes kernel, stride, padding, dilation. Throws Mistake when they make no sense.
struct WindowAttrs {
  Ints kernel, stride, padding, dilation;
};
WindowAttrs read_window(const Attrs& attrs, const Ints& kernel);
// How many windows fit: (in + 2 padding - dilation (kernel - 1) - 1) / stride + 1. Throws Mistake when none does.
Ints windowed(const Ints& size, const WindowAttrs& window, const Type& x);

}  // namespace kb
