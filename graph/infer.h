// Shape and dtype rules: from an op, its inputs' types and its attributes to its outputs' types. The DSL, the text
// parser, the passes and `verify` all ask here, and no other file knows a rule. The attributes of every op are listed
// below.
//
// ATTRIBUTES. An op's inputs stand in brackets, "->" leads to its result; a dtype or shape that is not said is the
// first input's. Axes are non-negative and sorted. `window` is kernel, stride, padding and dilation, each ints [H, W].
//   input              name text, kind text "sample" | "scalar", dtype, shape ints, names text -> that type; i32 may
//                      have `below`: every element lies in [0, below), checked where it enters
//   variable           name text, dtype, shape, names -> that type
//   constant           dtype, shape ints, values reals (one for all elements, or one an element)
//   iota               dtype (i32 or u32), shape ints [length] -> 0, 1, 2, ...
//   count (x)          axes ints, dtype: product of x's extents over axes, a scalar; the compiler makes it an `extent`
//   extent             dtype, extents ints: their product, a scalar; number: it tells apart two extents that are equal
//                      at one minibatch and differ at another
//   random_bits (step u32[], worker u32[], seed u32[])
//                      stream text, shape ints (axis 0 = samples), strides ints: the logical per-sample element number
//                      is sum(index[a] * strides[a]) over axes a >= 1; u32 result. Definition: word 0 of Philox4x32-10
//                      with counter (element, worker * shape[0] + index[0], step, 0), key (seed, fnv1a32(stream))
//   point-wise         none; all inputs have one shape (the DSL inserts broadcasts); cast: dtype
//   broadcast (x)      shape ints, axes ints: axis i of x is axis axes[i] of the result; extents equal or x's is 1
//   reshape (x)        shape, names
//   transpose (x)      perm: axis i of the result is axis perm[i] of x
//   slice (x)          begin, end, step ints, one an axis; 0 <= begin < end <= extent, step >= 1
//   pad (x)            low, high, interior ints (>= 0), value real: `interior` new elements between neighbours
//   concat (x...)      axis; `computed` 1: readers compute it from its parts, which no copy joins in memory
//   pack_bits (x boolean) -> u8, the last extent divided by 8: bit i % 8 of byte i / 8 is element i of a row
//   unpack_bits (x u8) -> boolean, the last extent times 8; pack_bits the other way
//   reduce_sum|max|min|prod (x) axes -> axes removed
//   argmax (x)         axis -> i32, first of equals
//   moments (x)        axes -> (mean, biased variance), f32 for bf16 and f16 input, else x's dtype; if x has an
//   infinity,
//                      the variance is NaN or infinite and the mean is NaN or that infinity
//   max_pool (x)       window, axes ints = positions of [H, W] -> (value, index of its tap, first of equals); tap
//                      (i, j) has index i * kernel[1] + j, in u8 if a window has at most 256 taps, else in i32; no
//                      window lies in the padding alone
//   max_pool_grad (dy, index) window, axes, input_size ints [H, W] -> x's shape; an index that is no tap of the window
//                      or is one in the padding adds nothing
//   take_at_index (x, index)  window, axes -> index's shape; such an index takes NaN (integers, booleans: 0)
//   sum_pool (x)       window, axes (padding counts as zero)
//   sum_pool_grad (dy) window, axes, input_size
//   gather (table, i32 indices) -> indices.shape + table.shape[1:]
//   index_order (indices) rows -> (order i32 [M], starts i32 [rows + 1]): the M positions of `indices`, taken as a
//                      vector, sorted by index; equal ones keep their order, and those outside of [0, rows) come last.
//                      Row r has the positions order[starts[r]] to order[starts[r + 1] - 1]
//   scatter_add (indices, updates, order, starts) rows -> [rows] + updates' rest; order and starts are index_order's of
//                      these indices and rows. `order` is cut into ranges of a length that M alone sets
//                      (graph/index_order.h). A row's updates are added in index order within each range, from 0, and
//                      the sums of its ranges in the order of the ranges
//   crop (x [N, ..., H, W], window i32 [N, 3] = top, left, mirrored) size -> [N, ..., size]; element (i, j) of sample n
//                      is element (top + i, left + j) of x, or (top + i, left + size[1] - 1 - j) if mirrored is not 0;
//                      outside of x it is 0
//   matmul (a, b)      transpose_a, transpose_b (0 | 1); rank >= 2, equal leading dimensions; bf16 and f16 give their
//                      own dtype; or, where it is there, dtype, which may be f32 for them. `packed` 1: b comes from
//                      pack_weights
//   conv2d (x, w)      stride, padding, dilation ints [H, W], groups; logical NCHW x OIHW; or, after the layout pass,
//                      block_in, block_out: x is (N, C/b, H, W, b), or (N, H, W, C) where b == C; absent = logical
//                      NCHW. `packed` 1: w comes from pack_weights. `weights_last` 1: w, or the weight gradient, is
//                      (O, H, W, I). Here and at matmul: `tf32` 1: f32 inputs may be rounded to tf32 (10 bits)
//                      A library may multiply the zeros of the padding: what is not finite may make NaN of results that
//                      it meets in the padding alone
//   conv2d_input_grad (dy, w)  the same and input_size [H, W], channels
//   conv2d_weight_grad (x, dy) the same and kernel [H, W] -> OIHW, f32 for bf16 and f16 input; or, where it is
//                      there, dtype, which may be the input's own
//   pack_weights (w)   all attributes of its conv or matmul, `usage` text "forward" | "input_grad" | "matmul", x_shape
//                      ints, the conv's logical input or the matmul's a -> w's type; identity in meaning
//   stop_gradient (x), worker_sum (x), all_reduce (x): identity
#pragma once
#include <span>
#include <vector>

#include "graph/attrs.h"
#include "graph/ops.h"
#include "graph/type.h"

namespace kb {

// Throws Mistake (graph/error.h) unless there is a tensor of this type: of a dtype that tensors have, every extent at
// least 1, at most 1 TiB. `infer` asks it of every result, so that no other rule meets an extent of 0.
void check_tensor(const Type& type);
// Throws Mistake when the inputs do not fit.
std::vector<Type> infer(Op op, std::span<const Type> inputs, const Attrs& attrs);

}  // namespace kb
