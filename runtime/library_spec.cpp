#include "runtime/library_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "graph/enum_table.h"
#include "graph/image_layout.h"

namespace kb {
namespace {

constexpr int64_t kSpatial = 2;  // the axes h and w

// Returns the logical shape (N, C, H, W) of an image in memory.
Dims logical_shape(const Type& type, int64_t block) {
  return image_layout(type.shape, block, kSpatial).value().logical(type.shape);
}

void copy_pair(const Attrs& attrs, const char* key, int64_t (&to)[2]) {
  const Ints& v = attrs.ints(key);
  to[0] = v[0];
  to[1] = v[1];
}

// Returns a spec with the attributes that every convolution node has.
ConvSpec common(const Attrs& attrs) {
  ConvSpec spec{};
  copy_pair(attrs, "stride", spec.stride);
  copy_pair(attrs, "padding", spec.padding);
  copy_pair(attrs, "dilation", spec.dilation);
  spec.groups = attrs.integer("groups");
  spec.weights_last = attrs.integer("weights_last", 0) != 0;
  spec.tf32 = attrs.integer("tf32", 0) != 0;
  spec.block_in = std::max<int64_t>(1, attrs.integer("block_in", 0));
  spec.block_out = std::max<int64_t>(1, attrs.integer("block_out", 0));
  return spec;
}

// Sets the sizes. `x` is in logical order, the filter bank in the order in memory.
void set_shapes(ConvSpec& spec, const Dims& x, const Dims& filters) {
  const Dims w = filter_layout(filters, spec.weights_last).logical(filters);
  spec.n = x[0];
  spec.c = x[1];
  spec.h = x[2];
  spec.w = x[3];
  spec.o = w[0];
  spec.kh = w[2];
  spec.kw = w[3];
}

}  // namespace

ConvSpec conv_spec(const Graph& graph, const Node& node, const Epilogue& epilogue) {
  ConvSpec spec = common(node.attrs);
  int64_t block_in = node.attrs.integer("block_in", 0);
  spec.dtype = graph.type(node.inputs[0]).dtype;
  spec.bias = epilogue.bias.valid();
  spec.relu = epilogue.relu;
  if (node.op == Op::pack_weights) {
    spec.kind = node.attrs.text("usage") == "forward" ? ConvKind::forward : ConvKind::input_grad;
    set_shapes(spec, node.attrs.ints("x_shape"), node.type().shape);
  } else if (node.op == Op::conv2d) {
    spec.kind = ConvKind::forward;
    set_shapes(spec, logical_shape(graph.type(node.inputs[0]), block_in), graph.type(node.inputs[1]).shape);
  } else if (node.op == Op::conv2d_input_grad) {
    spec.kind = ConvKind::input_grad;
    set_shapes(spec, logical_shape(node.type(), block_in), graph.type(node.inputs[1]).shape);
  } else {
    spec.kind = ConvKind::weight_grad;
    set_shapes(spec, logical_shape(graph.type(node.inputs[0]), block_in), node.type().shape);
    spec.wide = !is_low_precision(node.type().dtype);
  }
  return spec;
}

bool packs_matrix(const Node& pack) { return pack.attrs.text("usage") == "matmul"; }

MatmulSpec matmul_spec(const Graph& graph, const Node& node, const Epilogue& epilogue) {
  const bool packs = node.op == Op::pack_weights;
  const Dims& a = packs ? node.attrs.ints("x_shape") : graph.type(node.inputs[0]).shape;
  const Type& weights = graph.type(node.inputs[packs ? 0 : 1]);
  const auto extent = [](const Dims& shape, bool last) { return shape[shape.size() - (last ? 1 : 2)]; };
  MatmulSpec spec{};
  spec.dtype = weights.dtype;
  spec.wide = node.attrs.has("dtype") && node.attrs.dtype("dtype") != spec.dtype;
  spec.tf32 = node.attrs.integer("tf32", 0) != 0;
  spec.packed = packs || node.attrs.integer("packed", 0) != 0;
  spec.transpose_a = node.attrs.integer("transpose_a") != 0;
  spec.transpose_b = node.attrs.integer("transpose_b") != 0;
  spec.m = extent(a, spec.transpose_a);
  spec.k = extent(a, !spec.transpose_a);
  spec.n = extent(weights.shape, !spec.transpose_b);
  spec.batch = std::accumulate(a.begin(), a.end() - 2, int64_t{1}, std::multiplies<>());
  spec.bias = epilogue.bias.valid();
  spec.relu = epilogue.relu;
  return spec;
}

AttentionSpec attention_spec(const Graph& graph, const Node& node) {
  const auto type = [&](size_t i) -> const Type& { return graph.type(node.inputs[i]); };
  AttentionSpec spec{attention_shape(type(0), type(1), type(2), node.attrs)};
  spec.backward = node.op == Op::flash_attention_grad;
  spec.dtype = type(0).dtype;
  spec.causal = node.attrs.integer("causal") != 0;
  spec.lengths = node.inputs.size() > (spec.backward ? kFlashGradInputs : kFlashInputs);
  spec.scale = node.attrs.real("scale");
  return spec;
}

std::string text(const ConvSpec& s) {
  constexpr EnumNames<ConvKind> kNames({"conv2d", "conv2d_input_grad", "conv2d_weight_grad"});
  const bool weight_grad = s.kind == ConvKind::weight_grad;
  return fmt::format(
      "{} {} n{} c{}/{} {}x{} o{}/{} {}x{} stride {}x{} padding {}x{} dilation {}x{} groups {}{}{}{}{}{}",
      kNames[s.kind], name(s.dtype), s.n, s.c, s.block_in, s.h, s.w, s.o, s.block_out, s.kh, s.kw, s.stride[0],
      s.stride[1], s.padding[0], s.padding[1], s.dilation[0], s.dilation[1], s.groups, s.weights_last ? " last" : "",
      weight_grad && s.wide ? " wide" : "", s.tf32 ? " tf32" : "", s.bias ? " +bias" : "", s.relu ? " +relu" : "");
}

std::string text(const MatmulSpec& s) {
  return fmt::format("matmul {} batch {} m{} n{} k{}{}{}{}{}{}{}{}", name(s.dtype), s.batch, s.m, s.n, s.k,
                     s.transpose_a ? " ta" : "", s.transpose_b ? " tb" : "", s.wide ? " wide" : "",
                     s.tf32 ? " tf32" : "", s.packed ? " packed" : "", s.bias ? " +bias" : "", s.relu ? " +relu" : "");
}

std::string text(const AttentionSpec& s) {
  return fmt::format("attention{} {} n{} heads{} t{} s{} d{} e{} scale {}{}{}", s.backward ? "_grad" : "",
                     name(s.dtype), s.n, s.heads, s.t, s.s, s.d, s.e, s.scale, s.causal ? " causal" : "",
                     s.lengths ? " lengths" : "");
}

}  // namespace kb
