#include "graph/ops.h"

#include <array>
#include <string>

#include "graph/error.h"

namespace kb {
namespace {

constexpr auto kLeaf = OpClass::leaf;
constexpr auto kPoint = OpClass::pointwise;
constexpr auto kMove = OpClass::movement;
constexpr auto kReduce = OpClass::reduction;
constexpr auto kWindow = OpClass::window;
constexpr auto kIndexed = OpClass::indexed;
constexpr auto kLibrary = OpClass::library;
constexpr auto kMarker = OpClass::marker;
constexpr auto kNone = TypeRule::none;
constexpr auto kSame = TypeRule::same;
constexpr auto kArith = TypeRule::arithmetic;
constexpr auto kCompare = TypeRule::compare;
constexpr auto kBits = TypeRule::bits;
constexpr auto kSpecial = TypeRule::special;

// Conventions at kinks are PyTorch's: relu'(0) = abs'(0) = 0, a tie of maximum or minimum gives one half each. NaN goes
// through relu, maximum and minimum; for reductions and windows it is greater (for reduce_min: less) than every number.
// clang-format off
constexpr std::array<OpInfo, static_cast<size_t>(Op::kCount)> kOpTable{{
    {Op::input, "input", 0, kLeaf, kNone, "", {}, "a named input: a row a sample, or a scalar of the step"},
    {Op::variable, "variable", 0, kLeaf, kNone, "", {}, "the value a parameter or state has before the step"},
    {Op::constant, "constant", 0, kLeaf, kNone, "", {}, "one value for all elements, or one each"},
    {Op::iota, "iota", 0, kLeaf, kNone, "", {}, "0, 1, 2, ..."},
    {Op::count, "count", 1, kLeaf, kNone, "", {}, "how many elements of x lie along some axes"},
    {Op::extent, "extent", 0, kLeaf, kNone, "", {}, "a product of extents, which may grow with the minibatch"},
    {Op::random_bits, "random_bits", 3, kLeaf, kNone, "", {}, "32 random bits an element: Philox4x32-10 (Salmon et al. 2011)"},

    {Op::neg, "neg", 1, kPoint, kArith, "", {"-1"}, "-x"},
    {Op::abs, "abs", 1, kPoint, kArith, "", {"sign(x)"}, "|x|"},
    {Op::sign, "sign", 1, kPoint, kArith, "select(lt(0, x), 1, select(lt(x, 0), -1, 0))", {"0"}, "-1, 0 or 1"},
    {Op::exp, "exp", 1, kPoint, kSame, "", {"r"}, "e^x"},
    {Op::log, "log", 1, kPoint, kSame, "", {"1 / x"}, "natural logarithm"},
    {Op::log1p, "log1p", 1, kPoint, kSame, "", {"1 / (1 + x)"}, "log(1 + x), exact near 0"},
    {Op::sqrt, "sqrt", 1, kPoint, kSame, "", {"0.5 / r"}, "square root"},
    {Op::rsqrt, "rsqrt", 1, kPoint, kSame, "1 / sqrt(x)", {"-0.5 * r * r * r"}, "1 / sqrt(x)"},
    {Op::tanh, "tanh", 1, kPoint, kSame, "", {"1 - r * r"}, "hyperbolic tangent"},
    {Op::sigmoid, "sigmoid", 1, kPoint, kSame, "1 / (1 + exp(-x))", {"r * (1 - r)"}, "1 / (1 + e^-x)"},
    {Op::softplus, "softplus", 1, kPoint, kSame, "maximum(x, 0) + log1p(exp(-abs(x)))", {"sigmoid(x)"}, "log(1 + e^x)"},
    {Op::erf, "erf", 1, kPoint, kSame, "", {"1.1283791670955126 * exp(-(x * x))"}, "error function"},
    {Op::sin, "sin", 1, kPoint, kSame, "", {"cos(x)"}, "sine, x in radians; of f32 and narrower within [-1, 1] but of little meaning where |x| > 1e6"},
    {Op::cos, "cos", 1, kPoint, kSame, "", {"-sin(x)"}, "cosine, x in radians; of f32 and narrower within [-1, 1] but of little meaning where |x| > 1e6"},
    {Op::relu, "relu", 1, kPoint, kArith, "select(lt(x, 0), 0, x)", {"select(gt(r, 0), 1, 0)"}, "max(x, 0); NaN if x is"},
    {Op::gelu, "gelu", 1, kPoint, kSame, "0.5 * x * (1 + erf(0.7071067811865476 * x))", {}, "x times the normal distribution function (Hendrycks and Gimpel 2016), exact"},
    {Op::silu, "silu", 1, kPoint, kSame, "x * sigmoid(x)", {"sigmoid(x) * (1 + x * (1 - sigmoid(x)))"}, "x sigmoid(x)"},
    {Op::floor, "floor", 1, kPoint, kSame, "", {"0"}, "greatest integer <= x"},
    {Op::logical_not, "logical_not", 1, kPoint, kSpecial, "", {"0"}, "not x, of booleans"},
    {Op::cast, "cast", 1, kPoint, kSpecial, "", {}, "x in another dtype: rounds to nearest even; floats to integers as cast_float says; integers wrap"},

    {Op::add, "add", 2, kPoint, kArith, "", {"1", "1"}, "x + y"},
    {Op::sub, "sub", 2, kPoint, kArith, "", {"1", "-1"}, "x - y"},
    {Op::mul, "mul", 2, kPoint, kArith, "", {"y", "x"}, "x y"},
    {Op::div, "div", 2, kPoint, kArith, "", {"1 / y", "-(r / y)"}, "x / y; of integers towards zero"},
    {Op::maximum, "maximum", 2, kPoint, kArith, "", {"select(gt(x, y), 1, select(eq(x, y), 0.5, 0))", "select(gt(y, x), 1, select(eq(x, y), 0.5, 0))"}, "the greater; NaN if either is"},
    {Op::minimum, "minimum", 2, kPoint, kArith, "", {"select(lt(x, y), 1, select(eq(x, y), 0.5, 0))", "select(lt(y, x), 1, select(eq(x, y), 0.5, 0))"}, "the lesser; NaN if either is"},
    {Op::pow, "pow", 2, kPoint, kSame, "", {"select(eq(y, 0), 0, y * pow(x, y - 1))", "select(bit_and(eq(x, 0), ge(y, 0)), 0, r * log(x))"}, "x^y"},
    {Op::eq, "eq", 2, kPoint, kCompare, "", {"0", "0"}, "x = y"},
    {Op::ne, "ne", 2, kPoint, kCompare, "", {"0", "0"}, "x != y"},
    {Op::lt, "lt", 2, kPoint, kCompare, "", {"0", "0"}, "x < y"},
    {Op::le, "le", 2, kPoint, kCompare, "", {"0", "0"}, "x <= y"},
    {Op::gt, "gt", 2, kPoint, kCompare, "", {"0", "0"}, "x > y"},
    {Op::ge, "ge", 2, kPoint, kCompare, "", {"0", "0"}, "x >= y"},
    {Op::bit_and, "bit_and", 2, kPoint, kBits, "", {"0", "0"}, "and of bits or booleans"},
    {Op::bit_or, "bit_or", 2, kPoint, kBits, "", {"0", "0"}, "or of bits or booleans"},
    {Op::bit_xor, "bit_xor", 2, kPoint, kBits, "", {"0", "0"}, "exclusive or of bits or booleans"},
    {Op::shift_left, "shift_left", 2, kPoint, kBits, "", {"0", "0"}, "x 2^y modulo 2^32, 0 <= y < 32"},
    {Op::shift_right, "shift_right", 2, kPoint, kBits, "", {"0", "0"}, "floor(x / 2^y), 0 <= y < 32"},
    {Op::mul_high, "mul_high", 2, kPoint, kBits, "", {"0", "0"}, "floor(x y / 2^32), of u32"},
    {Op::carry, "carry", 2, kPoint, kArith, "x + y", {"1", "1"}, "x + y of partial sums over workers, in the memory of y"},

    {Op::select, "select", 3, kPoint, kSpecial, "", {"0", "select(x, 1, 0)", "select(x, 0, 1)"}, "y where x holds, else z"},

    {Op::broadcast, "broadcast", 1, kMove, kNone, "", {}, "x repeated along new axes and axes of extent 1"},
    {Op::reshape, "reshape", 1, kMove, kNone, "", {}, "the same elements in row-major order in another shape"},
    {Op::transpose, "transpose", 1, kMove, kNone, "", {}, "axes in another order"},
    {Op::slice, "slice", 1, kMove, kNone, "", {}, "every step-th element from begin up to end, on each axis"},
    {Op::pad, "pad", 1, kMove, kNone, "", {}, "one value put before, behind and between the elements"},
    {Op::concat, "concat", -1, kMove, kNone, "", {}, "tensors joined along one axis"},

    {Op::reduce_sum, "reduce_sum", 1, kReduce, kNone, "", {}, "sum over axes"},
    {Op::reduce_max, "reduce_max", 1, kReduce, kNone, "", {}, "greatest over axes; NaN if one is"},
    {Op::reduce_min, "reduce_min", 1, kReduce, kNone, "", {}, "least over axes; NaN if one is"},
    {Op::argmax, "argmax", 1, kReduce, kNone, "", {}, "where the greatest lies on an axis, the first of equals; the first NaN if there is one"},
    {Op::moments, "moments", 1, kReduce, kNone, "", {}, "mean and biased variance over axes; neither is finite where an element is not"},

    {Op::max_pool, "max_pool", 1, kWindow, kNone, "", {}, "greatest of each window and where it lies, the first of equals; the first NaN if there is one"},
    {Op::max_pool_grad, "max_pool_grad", 2, kWindow, kNone, "", {}, "adds each dy to the element that its window took"},
    {Op::take_at_index, "take_at_index", 2, kWindow, kNone, "", {}, "the element of x that each window took; NaN (integers: 0) where the index is none of x"},
    {Op::sum_pool, "sum_pool", 1, kWindow, kNone, "", {}, "sum of each window, padding counts as zero"},
    {Op::sum_pool_grad, "sum_pool_grad", 1, kWindow, kNone, "", {}, "adds each dy to all elements of its window"},

    {Op::gather, "gather", 2, kIndexed, kNone, "", {}, "rows of a table; NaN (integers, booleans: 0) where there is no such row"},
    {Op::scatter_add, "scatter_add", 2, kIndexed, kNone, "", {}, "adds rows into a table of zeros, equal indices in order; an index outside of it adds nothing"},
    {Op::crop, "crop", 2, kIndexed, kNone, "", {}, "a window of each sample, mirrored or not; 0 where it leaves the sample"},

    {Op::matmul, "matmul", 2, kLibrary, kNone, "", {}, "matrix product of the last two axes"},
    {Op::conv2d, "conv2d", 2, kLibrary, kNone, "", {}, "cross-correlation of images with a weight; beside NaN and infinities padding counts as 0 or is left out"},
    {Op::conv2d_input_grad, "conv2d_input_grad", 2, kLibrary, kNone, "", {}, "gradient of conv2d to its input: a transposed convolution"},
    {Op::conv2d_weight_grad, "conv2d_weight_grad", 2, kLibrary, kNone, "", {}, "gradient of conv2d to its weight; padding as in conv2d"},
    {Op::pack_weights, "pack_weights", 1, kLibrary, kNone, "", {}, "a weight in the library's own order"},

    {Op::stop_gradient, "stop_gradient", 1, kMarker, kNone, "", {}, "x, through which no gradient flows"},
    {Op::worker_sum, "worker_sum", 1, kMarker, kNone, "", {}, "x summed over the workers"},
    {Op::all_reduce, "all_reduce", 1, kMarker, kNone, "", {}, "x summed over the processes, in the memory of x"},
}};
// clang-format on

constexpr bool in_order() {
  for (size_t i = 0; i < kOpTable.size(); ++i)
    if (static_cast<size_t>(kOpTable[i].op) != i) return false;
  return true;
}
static_assert(in_order(), "the table's rows stand in the order of Op");

}  // namespace

const OpInfo& info(Op op) { return kOpTable[static_cast<size_t>(op)]; }
std::span<const OpInfo> all_ops() { return kOpTable; }

Op parse_op(std::string_view text) {
  for (const OpInfo& row : kOpTable)
    if (row.name == text) return row.op;
  throw Error("unknown op '" + std::string(text) + "'");
}

}  // namespace kb
