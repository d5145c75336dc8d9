#include "graph/ops.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "graph/error.h"

namespace kb {
namespace {

constexpr auto kLeaf = OpClass::leaf;
constexpr auto kMove = OpClass::movement;
constexpr auto kReduce = OpClass::reduction;
constexpr auto kWindow = OpClass::window;
constexpr auto kIndexed = OpClass::indexed;
constexpr auto kLibrary = OpClass::library;
constexpr auto kMarker = OpClass::marker;
constexpr auto kFloats = TypeRule::floats;
constexpr auto kArithmetic = TypeRule::arithmetic;
constexpr auto kCompare = TypeRule::compare;
constexpr auto kBits = TypeRule::bits;
constexpr auto kIntegers = TypeRule::integers;
constexpr auto kSpecial = TypeRule::special;

// ---- integers. Bits of a result beyond the width do not count. A division by zero gives zero; a shift by the width or
// more gives what as many shifts by one would.

int64_t product(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

int64_t shifted_left(int64_t x, int64_t y, int64_t bits) {
  const uint64_t all = static_cast<uint64_t>(x) << std::clamp<int64_t>(y, 0, bits);
  return static_cast<int64_t>(bits < 64 ? all & ((uint64_t{1} << bits) - 1) : all);
}

// A product of two 32-bit numbers fits: signed ones into int64_t, unsigned ones into uint64_t.
int64_t high_product(int64_t x, int64_t y, int64_t bits) {
  if (x < 0 || y < 0) return (x * y) >> bits;
  return static_cast<int64_t>((static_cast<uint64_t>(x) * static_cast<uint64_t>(y)) >> bits);
}

// The bits of a positive float, as an integer, are in the order of the numbers, those of a negative one in reverse.
double order_key(double x) {
  const auto number = static_cast<float>(x);
  if (std::isnan(number)) return std::numeric_limits<uint32_t>::max();
  const auto bits = std::bit_cast<uint32_t>(number == 0 ? 0.0f : number);
  constexpr uint32_t kSign = 0x80000000u;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

#define KB_REAL(...) \
  [](double x, [[maybe_unused]] double y, [[maybe_unused]] double z) -> double { return __VA_ARGS__; }
#define KB_INTEGER(...) \
  [](int64_t x, [[maybe_unused]] int64_t y, [[maybe_unused]] int64_t bits) -> int64_t { return __VA_ARGS__; }

// In reductions and windows NaN is greater than every number; in reduce_min it is less.
// clang-format off
constexpr std::array<OpInfo, static_cast<size_t>(Op::kCount)> kOpTable{{
    {Op::input, "input", 0, kLeaf, "a named input: a row a sample, or a scalar of the step"},
    {Op::variable, "variable", 0, kLeaf, "the value a parameter or state has before the step"},
    {Op::constant, "constant", 0, kLeaf, "one value for all elements, or one each"},
    {Op::iota, "iota", 0, kLeaf, "0, 1, 2, ..."},
    {Op::count, "count", 1, kLeaf, "how many elements of x lie along some axes"},
    {Op::extent, "extent", 0, kLeaf, "a product of extents, which may grow with the minibatch"},
    {Op::random_bits, "random_bits", 3, kLeaf, "32 random bits an element: Philox4x32-10 (Salmon et al. 2011)"},

#define KB_POINTWISE(f, n, text, ...) \
  {.op = Op::f, .name = #f, .arity = n, .cls = OpClass::pointwise, .doc = text, __VA_ARGS__},
#define KB_FUNCTION(f, text, ...) KB_POINTWISE(f, 1, text, .cost = OpCost::function, __VA_ARGS__)
#define KB_FUNCTION_OF_TWO(f, text, ...) KB_POINTWISE(f, 2, text, .cost = OpCost::function, __VA_ARGS__)
#include "graph/pointwise_ops.inc"

    {Op::broadcast, "broadcast", 1, kMove, "x repeated along new axes and axes of extent 1"},
    {Op::reshape, "reshape", 1, kMove, "the same elements in row-major order in another shape"},
    {Op::transpose, "transpose", 1, kMove, "axes in another order"},
    {Op::slice, "slice", 1, kMove, "every step-th element from begin up to end, on each axis"},
    {Op::pad, "pad", 1, kMove, "one value put before, behind and between the elements"},
    {Op::concat, "concat", -1, kMove, "tensors joined along one axis"},
    {Op::pack_bits, "pack_bits", 1, kMove, "eight booleans a byte along the last axis, the first one in the lowest bit"},
    {Op::unpack_bits, "unpack_bits", 1, kMove, "the booleans that pack_bits has packed"},

#define KB_REDUCTION(f, function, text, ...) \
  {.op = Op::f, .name = #f, .arity = 1, .cls = kReduce, .doc = text, __VA_ARGS__},
#include "graph/reductions.inc"
    {Op::argmax, "argmax", 1, kReduce, "where the greatest lies on an axis, the first of equals; the first NaN if there is one"},
    {Op::moments, "moments", 1, kReduce, "mean and biased variance over axes; neither is finite where an element is not"},

    {Op::max_pool, "max_pool", 1, kWindow, "greatest of each window and the number of its tap, the first of equals; the first NaN if there is one"},
    {Op::max_pool_grad, "max_pool_grad", 2, kWindow, "adds each dy to the element that its window took"},
    {Op::take_at_index, "take_at_index", 2, kWindow, "the element of x that each window took; NaN (integers: 0) where its index is no tap in x"},
    {Op::sum_pool, "sum_pool", 1, kWindow, "sum of each window, padding counts as zero"},
    {Op::sum_pool_grad, "sum_pool_grad", 1, kWindow, "adds each dy to all elements of its window"},

    {Op::gather, "gather", 2, kIndexed, "rows of a table; NaN (integers, booleans: 0) where there is no such row"},
    {Op::index_order, "index_order", 1, kIndexed, "positions of indices sorted by index, equal ones in order, those outside of the table last; where each row begins"},
    {Op::scatter_add, "scatter_add", 4, kIndexed, "adds rows into a table of zeros, equal indices in a fixed order; an index outside of it adds nothing"},
    {Op::crop, "crop", 2, kIndexed, "a window of each sample, mirrored or not; 0 where it leaves the sample"},

    {Op::matmul, "matmul", 2, kLibrary, "matrix product of the last two axes"},
    {Op::conv2d, "conv2d", 2, kLibrary, "cross-correlation of images with a weight; beside NaN and infinities padding counts as 0 or is left out"},
    {Op::conv2d_input_grad, "conv2d_input_grad", 2, kLibrary, "gradient of conv2d to its input: a transposed convolution"},
    {Op::conv2d_weight_grad, "conv2d_weight_grad", 2, kLibrary, "gradient of conv2d to its weight; padding as in conv2d"},
    {Op::pack_weights, "pack_weights", 1, kLibrary, "a weight in the library's own order"},
    {Op::flash_attention, "flash_attention", -1, kLibrary, "attention without its scores in memory: o, and the log-sum-exp of each row's scores"},
    {Op::flash_attention_grad, "flash_attention_grad", -1, kLibrary, "gradient of flash_attention's o to q, k and v"},

    {Op::stop_gradient, "stop_gradient", 1, kMarker, "x, through which no gradient flows"},
    {Op::worker_sum, "worker_sum", 1, kMarker, "x summed over the workers"},
    {Op::all_reduce, "all_reduce", 1, kMarker, "x summed over the processes, in the memory of x"},
}};
// clang-format on
#undef KB_REAL
#undef KB_INTEGER

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
