#include "runtime/cpu/library.h"

#include <algorithm>

#include "graph/error.h"
#include "runtime/cpu/amx_available.h"
#include "runtime/cpu/library_parts.h"
#include "runtime/processor.h"

namespace kb {

namespace {

void check(const ConvSpec& spec, int shards) {
  const int64_t least =
      std::min({spec.n, spec.c, spec.h, spec.w, spec.o, spec.kh, spec.kw, spec.groups, spec.block_in, spec.block_out,
                spec.stride[0], spec.stride[1], spec.dilation[0], spec.dilation[1], static_cast<int64_t>(shards)});
  ensure(least > 0 && spec.padding[0] >= 0 && spec.padding[1] >= 0, "convolution: an extent that is not positive");
  ensure(spec.out_h() > 0 && spec.out_w() > 0, "convolution: an empty output");
  ensure(spec.c % spec.groups == 0 && spec.o % spec.groups == 0, "convolution: groups that do not divide the channels");
  ensure(spec.c % spec.block_in == 0 && spec.o % spec.block_out == 0,
         "convolution: a block that does not divide the channels");
  ensure(is_float(spec.dtype), "convolution: not a float dtype");
  ensure(spec.kind == ConvKind::forward || !(spec.bias || spec.relu), "convolution: an epilogue after a gradient");
  ensure(!spec.weights_last && spec.wide, "convolution: weights or a gradient as only a GPU's library has them");
}

void check(const MatmulSpec& spec, int shards) {
  const int64_t least = std::min({spec.batch, spec.m, spec.n, spec.k, static_cast<int64_t>(shards)});
  ensure(least > 0, "matmul: an extent that is not positive");
  ensure(is_float(spec.dtype), "matmul: not a float dtype");
}

bool use_onednn(const LibraryContext& context, DType dtype) { return context.engine() && dtype != DType::f64; }

ConvSpec computed(const LibraryContext& context, ConvSpec spec) {
  spec.dtype = compute_dtype(context, spec.dtype);
  return spec;
}

// Returns the elements of each input of a convolution that comes in the spec's dtype, in the order of `in`; 0 for
// weights, which are packed as f32.
std::vector<int64_t> wide_inputs(const ConvSpec& spec) {
  if (spec.kind == ConvKind::forward) return {input_elements(spec), 0, 0};
  if (spec.kind == ConvKind::input_grad) return {output_elements(spec), 0};
  return {input_elements(spec), output_elements(spec)};
}

int64_t rounded_outputs(const ConvSpec& spec) {
  if (spec.kind == ConvKind::forward) return output_elements(spec);
  return spec.kind == ConvKind::input_grad ? input_elements(spec) : 0;
}

bool uses_winograd(const LibraryContext& context, const ConvSpec& spec) {
  return context.has_own_kernels() && winograd::is_faster(spec, context.kernel_isa());
}

// Returns whether a kernel for matrix tiles computes a convolution or the gradient of its input.
bool uses_amx(const LibraryContext& context, const ConvSpec& spec) {
  return context.has_own_kernels() && context.instruction_set() == "amx" && amx::available() && amx::is_faster(spec);
}

// Returns a kernel of our own for what the library does slowly; null where it has none.
std::unique_ptr<LibraryOp> plan_own(const LibraryContext& context, const ConvSpec& spec, int shards) {
  if (!context.has_own_kernels()) return nullptr;
  if (uses_winograd(context, spec)) return winograd::plan_conv(spec, shards, context.kernel_isa());
  if (uses_amx(context, spec)) return amx::plan_conv(spec, shards);
  if (auto op = avx2::plan_weight_grad(spec, shards)) return op;
  return context.instruction_set() == "amx" ? amx::plan_weight_grad(spec, shards) : nullptr;
}

WeightLayout weight_layout(LibraryContext& context, const ConvSpec& spec) {
  if (uses_amx(context, spec)) return amx::weight_layout(spec);
  if (use_onednn(context, spec.dtype)) return onednn::weight_layout(*context.engine(), spec);
  return WeightLayout::plain(spec, spec.dtype);
}

DType matmul_dtype(const LibraryContext& context, const MatmulSpec& spec) {
  if (spec.dtype == DType::f64) return spec.dtype;
  return context.engine() && onednn::multiplies(spec.dtype, spec.k) ? spec.dtype : DType::f32;
}

}  // namespace

DType compute_dtype(const LibraryContext& context, DType dtype) {
  if (dtype == DType::f64) return dtype;
  return context.engine() && onednn::computes(dtype) ? dtype : DType::f32;
}

LibraryContext::LibraryContext(bool own_kernels) : engine_(onednn::make_engine()), own_kernels_(own_kernels) {
  const std::string limit = instruction_set(), widest = kb::instruction_set();
  // oneDNN's sets beyond AVX2 all have AVX-512, and need no narrower kernels of ours.
  const bool narrow = limit == "portable" || limit == "avx2";
  kernel_isa_ = narrow && widest != "portable" ? limit : widest;
}

std::string LibraryContext::name() const { return engine_ ? onednn::name() : eigen::name(); }

std::string LibraryContext::instruction_set() const {
  return engine_ ? onednn::instruction_set() : kb::instruction_set();
}

std::unique_ptr<LibraryOp> plan_conv(LibraryContext& context, const ConvSpec& spec, int shards) {
  check(spec, shards);
  const ConvSpec inner = computed(context, spec);
  auto op = plan_own(context, inner, shards);
  if (!op)
    op = use_onednn(context, inner.dtype) ? onednn::plan_conv(*context.engine(), inner, shards)
                                          : eigen::plan_conv(inner, shards);
  if (inner.dtype == spec.dtype) return op;
  return make_widened(std::move(op), spec.dtype, wide_inputs(spec), rounded_outputs(spec));
}

std::unique_ptr<LibraryOp> plan_matmul(LibraryContext& context, const MatmulSpec& spec, int shards) {
  check(spec, shards);
  MatmulSpec inner = spec;
  inner.dtype = matmul_dtype(context, spec);
  ensure(!spec.packed || (use_onednn(context, inner.dtype) && inner.dtype == spec.dtype),
         "matmul: packed weights for a library that takes plain ones");
  auto op = use_onednn(context, inner.dtype) ? onednn::plan_matmul(*context.engine(), inner, shards)
                                             : eigen::plan_matmul(inner, shards);
  if (inner.dtype == spec.dtype) return op;
  return make_widened(std::move(op), spec.dtype, {spec.batch * spec.m * spec.k, spec.batch * spec.k * spec.n, 0},
                      spec.wide ? 0 : spec.batch * spec.m * spec.n);
}

size_t packed_weight_bytes(LibraryContext& context, const ConvSpec& spec) {
  check(spec, 1);
  const ConvSpec inner = computed(context, spec);
  if (uses_winograd(context, inner)) return winograd::packed_weight_bytes(inner);
  const WeightLayout layout = weight_layout(context, inner);
  if (layout.canonical && inner.dtype == spec.dtype) return 0;
  return layout.bytes();
}

std::unique_ptr<LibraryOp> plan_pack_weights(LibraryContext& context, const ConvSpec& spec) {
  ensure(packed_weight_bytes(context, spec) > 0, "pack_weights: these weights are used as they are");
  const ConvSpec inner = computed(context, spec);
  if (uses_winograd(context, inner)) return winograd::plan_pack_weights(inner, spec.dtype);
  return make_pack(weight_layout(context, inner), spec.dtype);
}

size_t packed_weight_bytes(LibraryContext& context, const MatmulSpec& spec, int shards) {
  check(spec, shards);
  if (!use_onednn(context, spec.dtype) || matmul_dtype(context, spec) != spec.dtype) return 0;
  return onednn::packed_weight_bytes(*context.engine(), spec, shards);
}

std::unique_ptr<LibraryOp> plan_pack_weights(LibraryContext& context, const MatmulSpec& spec, int shards) {
  ensure(packed_weight_bytes(context, spec, shards) > 0, "pack_weights: these weights are used as they are");
  return onednn::plan_pack_weights(*context.engine(), spec, shards);
}

std::unique_ptr<LibraryOp> plan_library(LibraryContext& context, const Graph& graph, const Node& node,
                                        const Epilogue& epilogue, int shards) {
  ensure(node.op != Op::flash_attention && node.op != Op::flash_attention_grad,
         "flash attention: a CPU's programs have the composite");
  if (node.op == Op::matmul) return plan_matmul(context, matmul_spec(graph, node, epilogue), shards);
  if (node.op == Op::pack_weights && packs_matrix(node))
    return plan_pack_weights(context, matmul_spec(graph, node), shards);
  const ConvSpec spec = conv_spec(graph, node, epilogue);
  if (node.op == Op::pack_weights) return plan_pack_weights(context, spec);
  return plan_conv(context, spec, shards);
}

}  // namespace kb
