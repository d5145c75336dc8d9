// Layers of transformers (Vaswani et al. 2017), batches first: x [N, T, E]. Names, shapes and initial values of the
// parameters are those of PyTorch's nn.MultiheadAttention, nn.TransformerEncoderLayer and nn.TransformerDecoderLayer.
// The parts of a layer are functions too, for models that put them together in another way.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/functions.h"
#include "graph/initialiser.h"

namespace kb {

// The linear layers that give an attention its q, k and v: three matrices, one above the other, as are their biases.
struct InProjection {
  Tensor weight;  // in_proj_weight [3 E, E]
  Tensor bias;    // in_proj_bias [3 E]
};
// Makes the parameters, in the current scope, for x [N, T, E]. Without `init` the weight starts as glorot_uniform.
InProjection in_projection(Tensor x, const std::optional<Initialiser>& init = {}, Where where = Where::current());
// Applies `count` of the three matrices, from number `first` on, to x [N, T, E] in one product: (0, 3) gives q, k and v
// of x, (0, 1) gives q, (1, 2) gives k and v. Each is [N, T, E].
std::vector<Tensor> project(const InProjection& in, Tensor x, int64_t first, int64_t count,
                            Where where = Where::current());
// Applies out_proj, a linear layer from E features to E, to the joined heads.
Tensor out_projection(Tensor heads, const std::optional<Initialiser>& init = {}, Where where = Where::current());

struct MultiHeadOptions {
  AttentionOptions attention = {};
  std::optional<Initialiser> init = {};  // of both matrices
};
// Attention in several heads with its linear layers (section 3.2.2): q [N, T, E] looks at kv [N, S, E], which may be q.
// Dropout of the keys' weights has the stream NAME.dropout.
Tensor multi_head_attention(const std::string& name, Tensor q, Tensor kv, const MultiHeadOptions& options = {},
                            Where where = Where::current());

using Activation = std::function<Tensor(Tensor)>;

// The defaults are the base model of table 3, and PyTorch's.
struct TransformerOptions {
  int64_t heads = 8;
  int64_t hidden = 2048;  // features between the two linear layers
  double dropout = 0.1;   // of the keys' weights, of the hidden features, and of what is added to the residual
  bool pre_norm = false;  // x + part(norm(x)) instead of norm(x + part(x))
  double epsilon = 1e-5;  // of the layer norms
  Activation activation = [](Tensor x) { return relu(x); };
  std::optional<Initialiser> init = {};  // of all matrices
};

// Says which keys an attention sees, as AttentionOptions does.
struct SeenKeys {
  bool causal = false;
  Tensor lengths = {}, mask = {};
};

// x [N, T, E] -> [N, T, E]: self_attn, then the feed-forward part linear1, linear2 (section 3.1).
Tensor encoder_layer(const std::string& name, Tensor x, const TransformerOptions& options = {},
                     const SeenKeys& seen = {}, Where where = Where::current());
// x [N, T, E] and the encoder's result memory [N, S, E] -> [N, T, E]: self_attn, multihead_attn over the memory, then
// the feed-forward part.
Tensor decoder_layer(const std::string& name, Tensor x, Tensor memory, const TransformerOptions& options = {},
                     const SeenKeys& seen = {.causal = true}, const SeenKeys& seen_of_memory = {},
                     Where where = Where::current());

// The feed-forward part (eq. 2): linear1, the activation, dropout, linear2.
Tensor feed_forward(Tensor x, const TransformerOptions& options, Where where = Where::current());
// Adds a part to the residual, with norm `number` and dropout `number` (section 5.4): norm1, dropout1 for "1".
Tensor with_residual(const std::string& number, Tensor x, const std::function<Tensor(Tensor)>& part,
                     const TransformerOptions& options, Where where = Where::current());

// Positions of any shape -> positions.shape + (features): feature 2i is sin(p / 10000^(2i / features)), and feature
// 2i + 1 the cosine of the same (section 3.5). They are computed in f64.
Tensor sinusoids(Tensor positions, int64_t features, DType dtype = DType::f32, Where where = Where::current());
// Sinusoids of the positions 0 to count - 1, as a constant [count, features].
Tensor sinusoidal_positions(Graph& graph, int64_t count, int64_t features, DType dtype = DType::f32,
                            Where where = Where::current());

struct RotaryOptions {
  int64_t heads = 1;
  double base = 10000;    // pair i of the d / 2 pairs of a head turns by base^(-2i / d) radians a position
  bool adjacent = false;  // whether a pair is the features 2i and 2i + 1 of a head, or i and i + d / 2
  // i32 [T], or [N, T] for samples that differ; 0 to T - 1 if not given.
  Tensor positions = {};
};
// Rotary positions: x [N, T, heads d], queries or keys before attention(), with each pair of features of a head turned
// by an angle that grows with the position (Su et al. 2021, arXiv 2104.09864, eq. 34), so that the product of a query
// and a key depends on how far they are apart. The paper's pairs are adjacent, as those of Llama's own code; the pairs
// of transformers' Llama, and of weights for it, are d / 2 apart. Angles are computed in f64.
Tensor rotary(Tensor x, const RotaryOptions& options = {}, Where where = Where::current());

}  // namespace kb
