// Attention as a composite: heads are split by one transposition of each of q, k and v and joined by one of the result.
#include <cmath>
#include <limits>

#include "graph/building.h"

namespace kb {
namespace {

constexpr const char* kAttention = "attention";

void check_attention(Tensor q, Tensor k, Tensor v, const AttentionOptions& options) {
  require_same_graph(kAttention, {q, k, v});
  for (const auto& [x, shape] :
       {std::pair{q, "q [N, T, features]"}, {k, "k [N, S, features]"}, {v, "v [N, S, features]"}}) {
    require_float(kAttention, x.type());
    require_rank(kAttention, x.type(), 3, shape);
  }
  const auto both = [](const char* a, Tensor x, const char* b, Tensor y) {
    return std::string(a) + " " + shape_text(x.type()) + ", " + b + " " + shape_text(y.type());
  };
  if (q.size(0) != k.size(0) || q.size(2) != k.size(2))
    report(kAttention, {"q and k do not fit", "as many samples, and as many features", both("q", q, "k", k), ""});
  if (k.size(0) != v.size(0) || k.size(1) != v.size(1))
    report(kAttention, {"k and v do not fit", "as many samples, and as many positions", both("k", k, "v", v), ""});
  if (options.causal && q.size(1) != k.size(1))
    report(kAttention, {"a causal attention over other positions than its own", "as many positions of q as of k",
                        both("q", q, "k", k), "causal = false"});
  for (Tensor x : {q, v})
    if (options.heads < 1 || x.size(2) % options.heads != 0)
      report(kAttention, {"heads do not divide the features", "a divisor of " + std::to_string(x.size(2)),
                          std::to_string(options.heads) + " heads", ""});
  if (options.scale && !std::isfinite(*options.scale))
    report(kAttention, {"scale out of range", "a finite number", number_text(*options.scale), ""});
}

// [N, T, heads d] -> [N, heads, T, d].
Tensor split_heads(Tensor x, int64_t heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}

// [N, heads, T, d] -> [N, T, heads d].
Tensor join_heads(Tensor x) {
  return reshape(transpose(x, {0, 2, 1, 3}), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

// Scores [N, heads, T, T] with minus infinity where a position would see a later one.
Tensor without_later(Tensor scores) {
  const Tensor position = iota(scores.graph(), DType::i32, scores.size(2));
  const Tensor row = broadcast_axes(position, scores.shape(), {2}),
               column = broadcast_axes(position, scores.shape(), {3});
  return select(column <= row, scores, -std::numeric_limits<double>::infinity());
}

}  // namespace

Tensor attention(Tensor q, Tensor k, Tensor v, const AttentionOptions& options, Where where) {
  const Call call(where);
  check_attention(q, k, v, options);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(2) / options.heads)));
  Tensor scores = matmul(split_heads(q * scale, options.heads), split_heads(k, options.heads), false, true);
  if (options.causal) scores = without_later(scores);
  return join_heads(matmul(softmax(scores), split_heads(v, options.heads)));
}

}  // namespace kb
