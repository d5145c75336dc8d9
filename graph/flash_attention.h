// The ops flash_attention and flash_attention_grad: attention whose scores are never in memory (Dao 2023). The DSL has
// the composite attention() instead (graph/functions.h); a pass puts these ops in its place where a library has them.
//
//   flash_attention       {q, k, v [, query lengths, key lengths]} -> {o, log-sum-exp}
//   flash_attention_grad  {q, k, v, o, log-sum-exp, do [, query lengths, key lengths]} -> {dq, dk, dv}
//
// q is [N, T, heads d], k [N, S, heads d], v [N, S, heads e], all of one float dtype; o is [N, T, heads e] of that
// dtype. The log-sum-exp of each row's scores, [N, heads, T], is f32 of 16 bits, else of that dtype. Lengths are i32
// [N]: row t of sample n sees key s if t and s are within them and, if `causal`, s <= t. A row that sees none has o and
// log-sum-exp 0. Attributes: heads, causal (0 or 1), scale (the factor of the scores).
#pragma once
#include <cstdint>
#include <span>

#include "graph/attrs.h"
#include "graph/type.h"

namespace kb {

struct AttentionShape {
  int64_t n = 1, heads = 1, t = 1, s = 1, d = 1, e = 1;
};

inline constexpr size_t kFlashInputs = 3;      // inputs of flash_attention before its lengths
inline constexpr size_t kFlashGradInputs = 6;  // inputs of flash_attention_grad before its lengths
inline constexpr size_t kFlashLogSumExp = 4;   // the log-sum-exp among the latter

inline AttentionShape attention_shape(const Type& q, const Type& k, const Type& v, const Attrs& attrs) {
  const int64_t heads = attrs.integer("heads");
  return {q.shape[0], heads, q.shape[1], k.shape[1], q.shape[2] / heads, v.shape[2] / heads};
}

}  // namespace kb
