// The DSL: pure functions over tensors. All point-wise ones broadcast as NumPy does; a negative axis counts from the
// end. Each function takes its caller's location, so that an error names the user's line. Each throws Error when its
// arguments do not fit.
#pragma once
#include <concepts>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/scope.h"
#include "graph/tensor.h"

namespace kb {

using Where = std::source_location;

// Leaves: inputs and constants.
Tensor input(Graph& graph, const std::string& name, DType dtype, Dims shape, const std::string& letters = "",
             Where where = Where::current());
// Makes an i32 input whose elements lie in [0, below), as labels and rows of a table do. A session checks them when it
// gets them and names the sample that is wrong, so a kernel that indexes by them makes no check.
Tensor index_input(Graph& graph, const std::string& name, Dims shape, int64_t below, const std::string& letters = "",
                   Where where = Where::current());
Tensor scalar_input(Graph& graph, const std::string& name, DType dtype = DType::f32, Where where = Where::current());
Tensor splat(Graph& graph, DType dtype, double value, Dims shape, Where where = Where::current());
// Makes a constant with one number for all elements. It is a template so that constant(g, dtype, {2}, {5, 6}) means a
// shape and its values.
template <class Number>
requires std::is_arithmetic_v<Number> Tensor constant(Graph& graph, DType dtype, Number value, Dims shape = {},
                                                      Where where = Where::current()) {
  return splat(graph, dtype, static_cast<double>(value), std::move(shape), where);
}
Tensor constant(Graph& graph, DType dtype, Dims shape, std::vector<double> values, Where where = Where::current());
Tensor iota(Graph& graph, DType dtype, int64_t length, Where where = Where::current());
// Returns the product of x's extents over `axes`, as a scalar of x's dtype.
Tensor count(Tensor x, Ints axes, Where where = Where::current());
// Returns a constant of x's dtype and shape.
Tensor full_like(Tensor x, double value, Where where = Where::current());

// Point-wise functions: the operators, and one function for each unary and binary row of graph/pointwise_ops.inc, which
// says what it computes.
#define KB_UNARY(name, ...) Tensor name(Tensor x, Where where = Where::current());
#define KB_BINARY(name, ...) Tensor name(Operand a, Operand b, Where where = Where::current());
#include "graph/pointwise_ops.inc"
Tensor operator+(Operand a, Operand b);
Tensor operator-(Operand a, Operand b);
Tensor operator*(Operand a, Operand b);
Tensor operator/(Operand a, Operand b);
Tensor operator-(Operand a);
Tensor operator<(Operand a, Operand b);
Tensor operator<=(Operand a, Operand b);
Tensor operator>(Operand a, Operand b);
Tensor operator>=(Operand a, Operand b);
// If a and b are both numbers, the result is f32; another dtype needs cast(...) or full_like.
Tensor select(Tensor condition, Operand a, Operand b, Where where = Where::current());
Tensor cast(Tensor x, DType dtype, Where where = Where::current());
Tensor leaky_relu(Tensor x, double slope = 0.01, Where where = Where::current());
// The gradient is 1 where low <= x <= high, and 0 elsewhere: an element at an edge can leave it. There PyTorch 2.15 has
// 0 and jnp.clip 1/2.
Tensor clamp(Tensor x, double low, double high, Where where = Where::current());
// Applies any point-wise op, chosen by its enumerator, to arguments of one graph; they broadcast.
Tensor pointwise(Op op, std::vector<Operand> arguments, Where where = Where::current());

// Movement: the result holds elements of x unchanged.
// broadcasts as NumPy does, axes aligned right
Tensor broadcast_to(Tensor x, Dims shape, Where where = Where::current());
// Axis i of x becomes axis axes[i].
Tensor broadcast_axes(Tensor x, Dims shape, Ints axes, Where where = Where::current());
Tensor reshape(Tensor x, Dims shape, const std::string& letters = "",
               Where where = Where::current());  // one extent of `shape` may be -1: it is worked out
Tensor flatten(Tensor x, int64_t start_axis = 1, Where where = Where::current());
Tensor transpose(Tensor x, Ints permutation, Where where = Where::current());
Tensor slice(Tensor x, int64_t axis, int64_t begin, int64_t end, int64_t step = 1, Where where = Where::current());
Tensor slice(Tensor x, Ints begin, Ints end, Ints step, Where where = Where::current());
Tensor pad(Tensor x, Ints low, Ints high, double value = 0, Ints interior = {}, Where where = Where::current());
Tensor concat(std::vector<Tensor> parts, int64_t axis, Where where = Where::current());

// Reductions over `axes`; all axes if none is named. `keep_dims` keeps a reduced axis with extent 1. NaN counts as the
// greatest and as the least number: max, min and max_pool2d keep it, and argmax finds the first one.
// graph/reductions.inc has a row for each of sum, max, min and prod. mean, norm, avg_pool2d and avg_pool1d of 16 bits
// add in f32 and round once.
#define KB_REDUCTION(op, function, ...) \
  Tensor function(Tensor x, Ints axes = {}, bool keep_dims = false, Where where = Where::current());
#include "graph/reductions.inc"
Tensor mean(Tensor x, Ints axes = {}, bool keep_dims = false, Where where = Where::current());
// Element t of the result is the sum of elements 0 to t of x along `axis`. An axis of m takes O(m) additions.
Tensor cumsum(Tensor x, int64_t axis, Where where = Where::current());
Tensor argmax(Tensor x, int64_t axis, Where where = Where::current());
struct Moments {
  Tensor mean, variance;
};  // the variance is the biased one: the sum of squares is divided by n
Moments moments(Tensor x, Ints axes, Where where = Where::current());
// Returns the Euclidean norm. Its gradient at 0 is 0.
Tensor norm(Tensor x, Ints axes = {}, bool keep_dims = false, Where where = Where::current());
// Returns log(sum(exp(x))), which overflows for no finite x. It is minus infinity where all of x is.
Tensor logsumexp(Tensor x, Ints axes = {}, bool keep_dims = false, Where where = Where::current());

// Indexed functions. When a computed index lies outside of its table, gather reads NaN (integers and booleans: 0),
// scatter_add adds nothing, and one_hot gives a row of zeros.
Tensor one_hot(Tensor indices, int64_t classes, DType dtype = DType::f32, Where where = Where::current());
Tensor gather(Tensor table, Tensor indices, Where where = Where::current());
// Takes the slices of x at `indices` along `axis`; the axes of `indices` stand where `axis` was: x [A, B, C] and
// indices [I, J] along axis 1 give [A, I, J, C].
Tensor gather(Tensor x, Tensor indices, int64_t axis, Where where = Where::current());
// Takes an element of each row along `axis`, or several: element i of the result's row is the element indices[i] of x's
// row. The i32 tensor `indices` has x's shape but on `axis`, where the result has its extent (NumPy's take_along_axis).
Tensor take_along_axis(Tensor x, Tensor indices, int64_t axis, Where where = Where::current());
// The k greatest elements of x along `axis`, the greatest first, and their places on it, i32; 1 <= k <= its extent,
// which becomes k. Equal elements keep their order, and NaN counts as greater than every number. A value's gradient
// goes to its element alone. Each of up to 8 elements takes a pass over the axis, and is compiled by itself; for more
// the axis is sorted, or if it is over 64 k long, a part of about 2 sqrt(k extent) elements that holds them.
struct TopK {
  Tensor value, index;
};
TopK topk(Tensor x, int64_t k, int64_t axis = -1, Where where = Where::current());
// Orders the elements of x along `axis`, ascending or descending; `index` has their places on it, i32. Equal elements
// keep their order, and NaN counts as greater than every number. A value's gradient goes to its element alone. m
// elements take O(m) steps. If m is at most 128, or x is f64, every element is compared with every other.
struct Sorted {
  Tensor value, index;
};
Sorted sort(Tensor x, int64_t axis = -1, bool descending = false, Where where = Where::current());
// Reverses the order of the elements along `axes`; along all axes if none is named.
Tensor flip(Tensor x, Ints axes, Where where = Where::current());
// Sorts the positions of `indices` (M of them, taken as a vector) by index; equal indices keep their order, and those
// outside of [0, rows) come last. order i32 [M] has the positions; row r has order[starts[r]] to
// order[starts[r + 1] - 1], and starts is i32 [rows + 1].
struct IndexOrder {
  Tensor order, starts;
};
IndexOrder index_order(Tensor indices, int64_t rows, Where where = Where::current());
// Adds updates [indices' shape, ...] into a table of zeros [rows, ...]. The order of a row's sum depends on the shapes
// alone (graph/infer.h).
Tensor scatter_add(Tensor indices, Tensor updates, int64_t rows, Where where = Where::current());
// Cuts a window of `size` = [H, W] out of each sample of x [N, ..., H, W]. The i32 tensor `window` [N, 3] holds the
// window's first row and first column in x, and whether it is mirrored left to right (not 0). A window may reach
// outside x, where it reads 0.
Tensor crop(Tensor x, Tensor window, Ints size, Where where = Where::current());
// Takes logits [N, K] and labels [N]; gives f32 [N]: 1 where the greatest logit is at the label, else 0.
Tensor argmax_equals(Tensor logits, Tensor labels, Where where = Where::current());
// Takes logits [N, K] and labels [N]; gives f32 [N]: 1 where the label is among the k greatest logits, 1 <= k <= K,
// else 0. The first of equal logits counts as greater. A NaN counts as greater than every number, but where it is the
// label's the result is 0.
Tensor in_top_k(Tensor logits, Tensor labels, int64_t k, Where where = Where::current());

// Library ops: matrix product and pooling.

// Multiplies the matrices of the last two axes. The leading axes broadcast as NumPy's do, aligned right; a single
// matrix b, or one for the last leading axes of a, multiplies all their rows in one product.
Tensor matmul(Tensor a, Tensor b, bool transpose_a = false, bool transpose_b = false, Where where = Where::current());
// Multiplies matrices with equal leading axes in their own dtype, which no precision of a run makes narrower.
Tensor exact_matmul(Tensor a, Tensor b, bool transpose_a = false, bool transpose_b = false,
                    Where where = Where::current());
inline constexpr const char* kExactProduct = "exact";  // the attribute of such a product
struct Window {
  Ints kernel, stride{1, 1}, padding{0, 0}, dilation{1, 1};  // each member has the numbers for [H, W]
};
Tensor convolution(Tensor x, Tensor weight, const Window& window, int64_t groups = 1, Where where = Where::current());
Tensor convolution_input_grad(Tensor dy, Tensor weight, const Window& window, int64_t groups, Ints input_size,
                              int64_t channels, Where where = Where::current());
Tensor convolution_weight_grad(Tensor x, Tensor dy, const Window& window, int64_t groups,
                               Where where = Where::current());
// Sums each window on the two axes [H, W] of x that `axes` names; padding counts as zero.
Tensor sum_pool(Tensor x, const Window& window, Ints axes = {-2, -1}, Where where = Where::current());
// Two numbers for the axes [H, W]: {1, 7}. One number stands for both.
struct Sides {
  // Takes whole numbers alone: a double would lose its fraction without a word.
  template <std::integral Number>
  constexpr Sides(Number both) : height(both), width(both) {}
  constexpr Sides(int64_t height, int64_t width) : height(height), width(width) {}
  int64_t height, width;
};
struct PoolOptions {
  Sides kernel = 2, stride = 0, padding = 0;
};  // stride 0 means: as wide as the kernel
Tensor max_pool2d(Tensor x, const PoolOptions& options, Where where = Where::current());
// The index is the number of the window's element that was taken, i * kernel[1] + j for element (i, j), as u8 for a
// window of at most 256 elements, else as i32. The first of equals is taken, or the first NaN.
struct MaxPool {
  Tensor value, index;
};
MaxPool max_pool_with_index(Tensor x, const Window& window, Ints axes, Where where = Where::current());
Tensor avg_pool2d(Tensor x, const PoolOptions& options,
                  // Padding counts as zero and takes part in the mean, as is PyTorch's default.
                  Where where = Where::current());
// Takes (N, C, L), gives (N, C, L').
Tensor max_pool1d(Tensor x, const PoolOptions& options, Where where = Where::current());
Tensor avg_pool1d(Tensor x, const PoolOptions& options, Where where = Where::current());
Tensor global_avg_pool(Tensor x, Where where = Where::current());  // takes (N, C, H, W) or (N, C, L), gives (N, C)
// Takes x [N, C, H, W], gives (N, C, height, width), each element the mean of a window. Along an axis of extent E,
// window i of k goes from floor(i E / k) to ceil((i + 1) E / k), as PyTorch's do, so that neighbours may overlap.
Tensor adaptive_avg_pool2d(Tensor x, Sides size, Where where = Where::current());
// Enlarges the axes [H, W] of x [N, C, H, W] by whole factors. `nearest` repeats each element. `bilinear` interpolates
// between the centres of the elements, and holds the outermost ones beyond theirs: PyTorch's align_corners=False.
enum class Interpolation : uint8_t { nearest, bilinear };
Tensor upsample2d(Tensor x, Sides factor, Interpolation how, Where where = Where::current());

// Makes u32 random bits of `shape`, whose axis 0 is the samples. They are a function of the scalar inputs "step",
// "worker" and "seed", which the graph gets on first use, and of the stream's name, prefixed by the scope. A graph has
// one stream of a name: two would have equal bits.
Tensor random_bits(Graph& graph, const std::string& stream, Dims shape, Where where = Where::current());
// Draw random numbers of `shape`, whose axis 0 is the samples, from a stream as random_bits does: uniform ones are
// multiples of 2^-24 in [0, 1), rounded to a `dtype` of 16 bits; normal ones have mean 0 and standard deviation 1, and
// are at most 5.8 in size. They are drawn in every mode. Each sample of an evaluation has numbers of its own, which are
// those of its place in the data, the same in every evaluation and under every seed.
Tensor random_uniform(Graph& graph, const std::string& stream, Dims shape, DType dtype = DType::f32,
                      Where where = Where::current());
Tensor random_normal(Graph& graph, const std::string& stream, Dims shape, DType dtype = DType::f32,
                     Where where = Where::current());

// Markers: each returns x, and says something about it to the compiler.
Tensor stop_gradient(Tensor x, Where where = Where::current());
Tensor worker_sum(Tensor x, Where where = Where::current());
Tensor all_reduce(Tensor x, Where where = Where::current());

// Composites of the functions above.

// Return log |Gamma(x)| and its derivative psi(x). They are computed in f64, with an absolute error of about 1e-14 and
// a relative one of a few roundings; so are gradients and further derivatives. lgamma is infinite, and digamma too,
// where x is 0 or a negative integer; both are NaN at minus infinity.
Tensor lgamma(Tensor x, Where where = Where::current());
Tensor digamma(Tensor x, Where where = Where::current());
struct GridOptions {
  bool align_corners = false;  // whether -1 and 1 are the centres of the outermost elements, or their outer edges
  bool border = false;         // whether places outside of x have the nearest element's value, or 0
};
// Interpolates x [N, C, H, W] bilinearly at the places grid [N, H', W', 2], in x's dtype; gives [N, C, H', W']. A place
// is a column and a row, from -1 at the left or upper end of x to 1 at the other end (Jaderberg et al. 2015, arXiv
// 1506.02025, eq. 5). A place that is NaN gives 0.
Tensor grid_sample(Tensor x, Tensor grid, const GridOptions& options = {}, Where where = Where::current());
Tensor softmax(Tensor x, int64_t axis = -1, Where where = Where::current());
Tensor log_softmax(Tensor x, int64_t axis = -1, Where where = Where::current());
// Takes logits [N, ..., K], i32 labels [N, ...] and a scalar smoothing s in [0, 1); gives one loss a label. The target
// is (1 - s) one_hot + s / K. Labels of an index_input must lie below K, which is checked here; a computed label
// outside of [0, K) makes its loss and gradient NaN. A class whose target is 0 adds nothing, even when its logit is
// minus infinity; with smoothing no target is 0, and a logit of minus infinity makes the loss infinite.
Tensor cross_entropy(Tensor logits, Tensor labels, Operand smoothing = 0.0, Where where = Where::current());
// Ignores the labels that equal `ignore_index`, which may be a class: their loss and gradient are 0. The labels of an
// index_input may have `ignore_index` = K, one above the greatest class.
Tensor cross_entropy(Tensor logits, Tensor labels, Operand smoothing, int64_t ignore_index,
                     Where where = Where::current());
struct AttentionOptions {
  int64_t heads = 1;
  bool causal = false;               // whether position t sees the positions 0 to t alone; q and k have one length then
  std::optional<double> scale = {};  // factor of the scores, a finite number; 1 / sqrt(d) if it is not given
  // i32 [N]: sample n sees its first lengths[n] keys. All of them if the number is S or more, none if it is 0 or less.
  Tensor lengths = {};
  // Added to the scaled scores, in q's dtype: [T, S], [N, T, S] for all heads alike, or [N, heads, T, S]; an extent may
  // be 1. A key with minus infinity is not seen.
  Tensor mask = {};
  // In training, each weight of a key becomes 0 with this probability and is divided by 1 less it otherwise, as
  // dropout(dropout_name, ...) of graph/layers.h does. A scope has one random stream of a name.
  double dropout = 0;
  std::string dropout_name = "dropout";
};
// Attention by scaled dot products in several heads (Vaswani et al. 2017, eq. 1 and section 3.2.2, without the linear
// layers): q [N, T, heads d], k [N, S, heads d] and v [N, S, heads e] give [N, T, heads e]. Head h has the features
// from h d on. A position sees a key that `causal`, `lengths` and `mask` all leave it. A position that sees none gives
// 0 and passes no gradient on. Keys and values that no position sees still have to be finite numbers: they are
// multiplied by 0.
Tensor attention(Tensor q, Tensor k, Tensor v, const AttentionOptions& options = {}, Where where = Where::current());
// Returns what a sum is divided by for a mean: `count`, or a small positive number where it is 0, as the sum then is.
Tensor divisor_of(Tensor count, Where where = Where::current());
// Takes the mean square over all axes but the first; gives one loss a sample, [N].
Tensor mse(Tensor prediction, Tensor target, Where where = Where::current());

// Each adds a variable to the graph, its name prefixed by the scope, and reads it: a parameter is trained, a state is
// written by write_state. In Mode::inference both are only read. `rate`, a finite number > 0, is the factor by which
// the learning rate of the parameter differs from that of the step.
Tensor parameter(Graph& graph, const std::string& name, Role role, Type type, Init init, double rate = 1,
                 Where where = Where::current());
Tensor state(Graph& graph, const std::string& name, Type type, Init init, Where where = Where::current());
// Adds values that a program carries from one call to the next, such as the keys of a decoder, and reads what the call
// before wrote; zeros at first. They are in no checkpoint. write_cache() says what the next call reads.
Tensor cache(Graph& graph, const std::string& name, Type type, Where where = Where::current());
void write_cache(Tensor cache, Tensor value, Where where = Where::current());
// Makes `value` the state's value after the step. A state is written once.
void write_state(Tensor state, Tensor value, Where where = Where::current());

}  // namespace kb
