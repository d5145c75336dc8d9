#include "graph/flash_attention.h"
#include "graph/infer_rules.h"

namespace kb {
namespace {

void check_operands(std::span<const Type> qkv, const Attrs& attrs) {
  const Type &q = qkv[0], &k = qkv[1], &v = qkv[2];
  check_float(q, "cast(q, DType::f32)");
  check_same_dtype(qkv);
  const bool ranks = q.rank() == 3 && k.rank() == 3 && v.rank() == 3;
  if (!ranks || q.shape[0] != k.shape[0] || q.shape[2] != k.shape[2] || k.shape[0] != v.shape[0] ||
      k.shape[1] != v.shape[1])
    throw Mistake{"q, k and v do not fit", "q [N, T, heads d], k [N, S, heads d], v [N, S, heads e]",
                  operands_text(qkv), ""};
  const int64_t heads = attrs.integer("heads");
  static_cast<void>(attrs.real("scale"));  // has to be there
  if (heads < 1 || q.shape[2] % heads != 0 || v.shape[2] % heads != 0)
    throw Mistake{"heads do not divide the features", "a divisor of both extents", std::to_string(heads) + " heads",
                  ""};
  if (attrs.integer("causal") != 0 && q.shape[1] != k.shape[1])
    throw Mistake{"causal, over other positions than its own", "as many positions of q as of k", operands_text(qkv),
                  ""};
}

// Checks what stands behind the first `count` inputs: nothing, or the lengths of queries and keys.
void check_lengths(std::span<const Type> in, size_t count) {
  if (in.size() != count && in.size() != count + 2)
    throw Mistake{"wrong number of inputs", std::to_string(count) + ", or two lengths more", std::to_string(in.size()),
                  ""};
  for (const Type& lengths : in.subspan(count))
    if (lengths.dtype != DType::i32 || lengths.shape != Dims{in[0].shape[0]})
      throw Mistake{"lengths do not fit", "i32 [N=" + std::to_string(in[0].shape[0]) + "]", to_string(lengths), ""};
}

std::vector<Type> results(std::span<const Type> qkv, const Attrs& attrs) {
  const AttentionShape s = attention_shape(qkv[0], qkv[1], qkv[2], attrs);
  const DType dtype = qkv[0].dtype;
  return {Type{dtype, {s.n, s.t, s.heads * s.e}, ""}, Type{arithmetic_dtype(dtype), {s.n, s.heads, s.t}, ""}};
}

void require_inputs(std::span<const Type> in, size_t count) {
  if (in.size() < count)
    throw Mistake{"wrong number of inputs", std::to_string(count) + " or more", std::to_string(in.size()), ""};
}

}  // namespace

std::vector<Type> infer_flash_attention(std::span<const Type> in, const Attrs& attrs) {
  require_inputs(in, kFlashInputs);
  check_operands(in.first(3), attrs);
  check_lengths(in, kFlashInputs);
  return results(in.first(3), attrs);
}

std::vector<Type> infer_flash_attention_grad(std::span<const Type> in, const Attrs& attrs) {
  require_inputs(in, kFlashGradInputs);
  check_operands(in.first(3), attrs);
  check_lengths(in, kFlashGradInputs);
  const std::vector<Type> forward = results(in.first(3), attrs);
  const auto same = [](const Type& a, const Type& b) { return a.dtype == b.dtype && a.shape == b.shape; };
  if (!same(in[3], forward[0]) || !same(in[kFlashLogSumExp], forward[1]) || !same(in[5], forward[0]))
    throw Mistake{"o, its log-sum-exp and its gradient do not fit",
                  "o and do " + to_string(forward[0]) + ", log-sum-exp " + to_string(forward[1]),
                  operands_text(in.subspan(3, 3)), ""};
  return {in[0], in[1], in[2]};
}

}  // namespace kb
