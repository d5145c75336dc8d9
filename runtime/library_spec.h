// The library call that a convolution or matmul node stands for. The backends read the attributes of these nodes here
// alone.
#pragma once
#include <compare>
#include <cstdint>
#include <string>

#include "compiler/schedule.h"
#include "graph/flash_attention.h"

namespace kb {

enum class ConvKind : uint8_t { forward, input_grad, weight_grad };

// A tensor with C channels in blocks of b lies in memory as (N, C/b, H, W, b): b == C is NHWC, b == 1 is NCHW; b
// divides C. `h` and `w` are the input's; the output has (h + 2 padding - dilation (kh - 1) - 1) / stride + 1 rows.
//   forward      in = {x, weights [, bias]}   out = {y}     y = relu(conv(x, weights) + bias), both optional
//   input_grad   in = {dy, weights}           out = {dx}
//   weight_grad  in = {x, dy}                 out = {dw}
// All have `dtype`, except the bias, which is f32 (f64 for f64), and dw if `wide`. `weights` and dw are (O, C/groups,
// KH, KW), or (O, KH, KW, C/groups) if `weights_last`; a CPU reads weights in the form that plan_pack_weights wrote.
struct ConvSpec {
  ConvKind kind = ConvKind::forward;
  DType dtype = DType::f32;
  int64_t n = 1, c = 1, h = 1, w = 1;
  int64_t o = 1, kh = 1, kw = 1;
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  int64_t groups = 1;
  int64_t block_in = 1;   // channel block of the tensor with c channels
  int64_t block_out = 1;  // channel block of the tensor with o channels
  bool weights_last = false;
  bool wide = true;   // dw is f32 if x and dy are bf16 or f16
  bool tf32 = false;  // f32 inputs may be rounded to tf32
  bool bias = false, relu = false;

  int64_t out_h() const { return (h + 2 * padding[0] - dilation[0] * (kh - 1) - 1) / stride[0] + 1; }
  int64_t out_w() const { return (w + 2 * padding[1] - dilation[1] * (kw - 1) - 1) / stride[1] + 1; }
  friend auto operator<=>(const ConvSpec&, const ConvSpec&) = default;
};

// c = relu(a b + bias) for each of `batch` row-major matrices: a is (m, k), or (k, m) if transposed; b is (k, n), or
// (n, k); c is (m, n). in = {a, b [, bias]}, out = {c}; the bias is f32 (f64 for f64) and has n elements. If `packed`,
// b is in the form that plan_pack_weights wrote, on a CPU alone.
struct MatmulSpec {
  DType dtype = DType::f32;
  bool wide = false;  // c is f32 if a and b are bf16 or f16
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false;
  bool tf32 = false;    // f32 inputs may be rounded to tf32
  bool packed = false;  // b is in the library's own form
  bool bias = false, relu = false;
  friend auto operator<=>(const MatmulSpec&, const MatmulSpec&) = default;
};

// Attention in bf16 or f16 of T queries and S keys, in heads with d features of a query and a key and e of a value.
// Inputs and outputs are those of the ops in graph/flash_attention.h; the log-sum-exp is f32. Lengths are at least 1.
struct AttentionSpec : AttentionShape {
  bool backward = false;
  DType dtype = DType::bf16;
  bool causal = false, lengths = false;
  double scale = 1;  // factor of the scores
};

// Returns whether a pack_weights node packs the weights of products of matrices, not of convolutions.
bool packs_matrix(const Node& pack);
// conv_spec returns the spec of a conv2d, conv2d_input_grad, conv2d_weight_grad or pack_weights node on physical types;
// matmul_spec that of a matmul or pack_weights node. The epilogue says whether there are bias and relu.
ConvSpec conv_spec(const Graph& graph, const Node& node, const Epilogue& epilogue = {});
MatmulSpec matmul_spec(const Graph& graph, const Node& node, const Epilogue& epilogue = {});
// Returns the spec of a flash_attention or flash_attention_grad node.
AttentionSpec attention_spec(const Graph& graph, const Node& node);

// Returns one line that differs for different specs: "conv2d bf16 n256 c64 56x56 o64 3x3 stride 1x1 ...".
std::string text(const ConvSpec& spec);
std::string text(const MatmulSpec& spec);
std::string text(const AttentionSpec& spec);

inline int64_t input_elements(const ConvSpec& spec) { return spec.n * spec.c * spec.h * spec.w; }
inline int64_t output_elements(const ConvSpec& spec) { return spec.n * spec.o * spec.out_h() * spec.out_w(); }

}  // namespace kb
