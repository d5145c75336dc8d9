// The DSL: pure functions over tensors. All point-wise ones broadcast as NumPy does; axes may be negative. Each takes
// the caller's location, so that an error names the user's line.
#pragma once
#include <initializer_list>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/scope.h"
#include "graph/tensor.h"

namespace kb {

using Where = std::source_location;

// Leaves.
Tensor input(Graph& graph, const std::string& name, DType dtype, Dims shape, const std::string& letters = "",
             Where where = Where::current());
// An input i32 of numbers in [0, below): labels, rows of a table. They are checked when a session gets them, and an
// error names the sample; so what is indexed by them is read without a check.
Tensor index_input(Graph& graph, const std::string& name, Dims shape, int64_t below, const std::string& letters = "",
                   Where where = Where::current());
Tensor scalar_input(Graph& graph, const std::string& name, DType dtype = DType::f32, Where where = Where::current());
Tensor splat(Graph& graph, DType dtype, double value, Dims shape, Where where = Where::current());
// A number for all elements. A template, so that constant(g, dtype, {2}, {5, 6}) means a shape and its values.
template <class Number>
requires std::is_arithmetic_v<Number> Tensor constant(Graph& graph, DType dtype, Number value, Dims shape = {},
                                                      Where where = Where::current()) {
  return splat(graph, dtype, static_cast<double>(value), std::move(shape), where);
}
Tensor constant(Graph& graph, DType dtype, Dims shape, std::vector<double> values, Where where = Where::current());
Tensor iota(Graph& graph, DType dtype, int64_t length, Where where = Where::current());
// A scalar of x's dtype: the product of x's extents over `axes`.
Tensor count(Tensor x, Ints axes, Where where = Where::current());
// A constant of x's dtype and shape.
Tensor full_like(Tensor x, double value, Where where = Where::current());

// Point-wise: a function for each unary and binary op of graph/pointwise_ops.inc, which says what it computes, and
// operators.
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
// Two numbers take f32: cast(...) the result, or use full_like, in another dtype.
Tensor select(Tensor condition, Operand a, Operand b, Where where = Where::current());
Tensor cast(Tensor x, DType dtype, Where where = Where::current());
Tensor leaky_relu(Tensor x, double slope = 0.01, Where where = Where::current());
// Gradient 1 inside [low, high], 0 outside.
Tensor clamp(Tensor x, double low, double high, Where where = Where::current());
// Any point-wise op by its number, arguments of one graph; broadcasts.
Tensor pointwise(Op op, std::vector<Operand> arguments, Where where = Where::current());

// Movement.
Tensor broadcast_to(Tensor x, Dims shape, Where where = Where::current());               // NumPy rule, right-aligned
Tensor broadcast_axes(Tensor x, Dims shape, Ints axes, Where where = Where::current());  // axis i of x -> axes[i]
Tensor reshape(Tensor x, Dims shape, const std::string& letters = "",
               Where where = Where::current());  // one -1 allowed
Tensor flatten(Tensor x, int64_t start_axis = 1, Where where = Where::current());
Tensor transpose(Tensor x, Ints permutation, Where where = Where::current());
Tensor slice(Tensor x, int64_t axis, int64_t begin, int64_t end, int64_t step = 1, Where where = Where::current());
Tensor slice(Tensor x, Ints begin, Ints end, Ints step, Where where = Where::current());
Tensor pad(Tensor x, Ints low, Ints high, double value = 0, Ints interior = {}, Where where = Where::current());
Tensor concat(std::vector<Tensor> parts, int64_t axis, Where where = Where::current());

// Reductions; no axes = all of them; keep_dims leaves extents of 1. NaN counts as the greatest and as the least number,
// so that max, min and max_pool2d keep it, and argmax is where the first NaN lies.
// sum, max, min and prod are rows of graph/reductions.inc.
#define KB_REDUCTION(op, function, ...) \
  Tensor function(Tensor x, Ints axes = {}, bool keep_dims = false, Where where = Where::current());
#include "graph/reductions.inc"
Tensor mean(Tensor x, Ints axes = {}, bool keep_dims = false, Where where = Where::current());
Tensor argmax(Tensor x, int64_t axis, Where where = Where::current());
struct Moments {
  Tensor mean, variance;
};  // biased variance
Moments moments(Tensor x, Ints axes, Where where = Where::current());
// Euclidean norm; its gradient at 0 is 0.
Tensor norm(Tensor x, Ints axes = {}, bool keep_dims = false, Where where = Where::current());

// Indexed. A computed index outside of what it indexes reads NaN, of integers and booleans 0, and adds nothing in
// scatter_add; its one_hot is a row of zeros.
Tensor one_hot(Tensor indices, int64_t classes, DType dtype = DType::f32, Where where = Where::current());
Tensor gather(Tensor table, Tensor indices, Where where = Where::current());
// The slices of x at `indices` along `axis`, in whose place the axes of `indices` stand: x [A, B, C] and indices [I, J]
// along axis 1 give [A, I, J, C].
Tensor gather(Tensor x, Tensor indices, int64_t axis, Where where = Where::current());
// The elements in reverse order along `axes`; none = all of them.
Tensor flip(Tensor x, Ints axes, Where where = Where::current());
Tensor scatter_add(Tensor indices, Tensor updates, int64_t rows, Where where = Where::current());
// A window of `size` = [H, W] of each sample of x [N, ..., H, W]. window i32 [N, 3]: its first row and first column in
// x, which may lie outside (0 is read there), and whether it is mirrored left to right (not 0).
Tensor crop(Tensor x, Tensor window, Ints size, Where where = Where::current());
Tensor argmax_equals(Tensor logits, Tensor labels, Where where = Where::current());  // [N, K], [N] -> f32 [N] of 0 | 1

// Library ops.
Tensor matmul(Tensor a, Tensor b, bool transpose_a = false, bool transpose_b = false, Where where = Where::current());
struct Window {
  Ints kernel, stride{1, 1}, padding{0, 0}, dilation{1, 1};  // [H, W]
};
Tensor convolution(Tensor x, Tensor weight, const Window& window, int64_t groups = 1, Where where = Where::current());
Tensor convolution_input_grad(Tensor dy, Tensor weight, const Window& window, int64_t groups, Ints input_size,
                              int64_t channels, Where where = Where::current());
Tensor convolution_weight_grad(Tensor x, Tensor dy, const Window& window, int64_t groups,
                               Where where = Where::current());
// The sum of each window on the axes [H, W] of x that `axes` names; padding counts as zero.
Tensor sum_pool(Tensor x, const Window& window, Ints axes = {-2, -1}, Where where = Where::current());
struct PoolOptions {
  int64_t kernel = 2, stride = 0, padding = 0;
};  // stride 0 = kernel
Tensor max_pool2d(Tensor x, const PoolOptions& options, Where where = Where::current());
struct MaxPool {
  Tensor value, index;
};
MaxPool max_pool_with_index(Tensor x, const Window& window, Ints axes, Where where = Where::current());
Tensor avg_pool2d(Tensor x, const PoolOptions& options,
                  Where where = Where::current());  // padding counts as zero, as PyTorch's default
Tensor max_pool1d(Tensor x, const PoolOptions& options, Where where = Where::current());  // (N, C, L) -> (N, C, L')
Tensor avg_pool1d(Tensor x, const PoolOptions& options, Where where = Where::current());
Tensor global_avg_pool(Tensor x, Where where = Where::current());  // (N, C, H, W) or (N, C, L) -> (N, C)

// Randomness: reads the scalar inputs "step", "worker", "seed" of the graph (made on first use). u32, shape[0] =
// samples. A stream's name, prefixed by the scope, stands once in a graph: equal names would have equal bits.
Tensor random_bits(Graph& graph, const std::string& stream, Dims shape, Where where = Where::current());

// Markers.
Tensor stop_gradient(Tensor x, Where where = Where::current());
Tensor worker_sum(Tensor x, Where where = Where::current());
Tensor all_reduce(Tensor x, Where where = Where::current());

// Composites.
Tensor softmax(Tensor x, int64_t axis = -1, Where where = Where::current());
Tensor log_softmax(Tensor x, int64_t axis = -1, Where where = Where::current());
// logits [N, ..., K], labels i32 [N, ...], smoothing a scalar in [0, 1): target (1 - s) one_hot + s / K; one loss a
// label. Labels of an index_input are below K, or it is an error here; a computed label outside [0, K) has loss and
// gradient NaN. A class that the target gives nothing counts nothing, also where its logit is minus infinity; with
// smoothing every class has a share, and such a logit makes the loss infinite.
Tensor cross_entropy(Tensor logits, Tensor labels, Operand smoothing = 0.0, Where where = Where::current());
// Ignores labels equal to `ignore_index`, which may be a class: their loss and gradient are 0. An index_input may have
// it as the number above its classes.
Tensor cross_entropy(Tensor logits, Tensor labels, Operand smoothing, int64_t ignore_index,
                     Where where = Where::current());
// Mean over all axes but the first: per-sample losses [N].
Tensor mse(Tensor prediction, Tensor target, Where where = Where::current());

// A parameter (trained) or state of the graph; name is prefixed by the scope. In Mode::inference it is only read.
Tensor parameter(Graph& graph, const std::string& name, Role role, Type type, Init init,
                 Where where = Where::current());
Tensor state(Graph& graph, const std::string& name, Type type, Init init, Where where = Where::current());
// The value state `name` (scope prefix as above) has after the step. One write a state.
void write_state(Tensor state, Tensor value, Where where = Where::current());

}  // namespace kb
