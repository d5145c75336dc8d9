// Attention as a composite: heads are split by one transposition of each of q, k and v and joined by one of the result.
#include <cmath>
#include <limits>

#include "graph/building.h"
#include "graph/infer_rules.h"
#include "graph/layers.h"

namespace kb {
namespace {

constexpr const char* kAttention = "attention";
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

void check_lengths(Tensor q, Tensor lengths) {
  if (!lengths.valid()) return;
  require_same_graph(kAttention, {q, lengths});
  if (lengths.dtype() != DType::i32 || lengths.shape() != Dims{q.size(0)})
    report(kAttention, {"lengths do not fit", "i32 [N=" + std::to_string(q.size(0)) + "]: a number of keys a sample",
                        to_string(lengths.type()), ""});
}

// Throws Error unless the mask broadcasts to the scores [N, heads, T, S]; one of three axes lacks the heads.
void check_mask(Tensor q, const Dims& scores, Tensor mask) {
  if (!mask.valid()) return;
  require_same_graph(kAttention, {q, mask});
  if (mask.dtype() != q.dtype())
    report(kAttention,
           {"the mask has the wrong dtype", "numbers of q's dtype, " + std::string(name(q.dtype())),
            to_string(mask.type()),
            mask.dtype() == DType::boolean ? "select(mask, 0.0, -HUGE_VAL) is f32" : "cast(mask, q.dtype())"});
  Dims fits = scores;
  if (mask.rank() < 4) fits.erase(fits.begin() + 1);
  if (mask.rank() < 3) fits.erase(fits.begin());
  bool is_fit = mask.rank() >= 2 && mask.rank() <= 4;
  for (size_t i = 0; is_fit && i < fits.size(); ++i) is_fit = mask.shape()[i] == 1 || mask.shape()[i] == fits[i];
  if (!is_fit)
    report(kAttention, {"the mask does not fit the scores " + ints_text(scores),
                        "[T, S], [N, T, S] or [N, heads, T, S], with extents of 1 for all", shape_text(mask.type()),
                        "reshape(mask, ...) puts an extent of 1"});
}

void check_attention(Tensor q, Tensor k, Tensor v, const AttentionOptions& options) {
  require_same_graph(kAttention, {q, k, v});
  for (const auto& [x, shape] :
       {std::pair{q, "q [N, T, features]"}, {k, "k [N, S, features]"}, {v, "v [N, S, features]"}}) {
    require_float(kAttention, x);
    require_rank(kAttention, x, 3, shape);
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
  check_lengths(q, options.lengths);
  check_mask(q, {q.size(0), options.heads, q.size(1), k.size(1)}, options.mask);
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
  return select(column <= row, scores, kMinusInfinity);
}

// Scores [N, heads, T, S] with minus infinity at the keys beyond each sample's length.
Tensor within_lengths(Tensor scores, Tensor lengths) {
  const Tensor key = broadcast_axes(iota(scores.graph(), DType::i32, scores.size(3)), scores.shape(), {3});
  return select(key < broadcast_axes(lengths, scores.shape(), {0}), scores, kMinusInfinity);
}

// Adds the mask [T, S], [N, T, S] or [N, heads, T, S] to scores [N, heads, T, S].
Tensor masked(Tensor scores, Tensor mask) {
  if (mask.rank() == 3) mask = reshape(mask, {mask.size(0), 1, mask.size(1), mask.size(2)});
  return scores + mask;
}

// Returns softmax over the keys, and zeros in a row whose scores are all minus infinity. The greatest of other rows has
// the exponential 1, so that their sum is not 0.
Tensor softmax_of_seen(Tensor scores) {
  const Tensor greatest = stop_gradient(max(scores, {3}, true));
  const Tensor e = exp(scores - select(eq(greatest, kMinusInfinity), 0.0, greatest));
  const Tensor total = sum(e, {3}, true);
  return e / select(eq(total, 0.0), 1.0, total);
}

// Returns the weights of the keys, [N, heads, T, S]: each position's sum is 1, or 0 if it sees no key.
Tensor key_weights(Tensor scores, const AttentionOptions& options) {
  if (options.mask.valid()) scores = masked(scores, options.mask);
  if (options.lengths.valid()) scores = within_lengths(scores, options.lengths);
  if (options.causal) scores = without_later(scores);
  const bool may_see_none = options.mask.valid() || options.lengths.valid();
  const Tensor weights = may_see_none ? softmax_of_seen(scores) : softmax(scores);
  return dropout(options.dropout_name, weights, options.dropout);
}

}  // namespace

Tensor attention(Tensor q, Tensor k, Tensor v, const AttentionOptions& options, Where where) {
  const Call call(where);
  check_attention(q, k, v, options);
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(2) / options.heads)));
  // The scale stands behind the transposition: before it, its gradient would have index arithmetic for each element.
  const Tensor scores = matmul(split_heads(q, options.heads) * scale, split_heads(k, options.heads), false, true);
  return join_heads(matmul(key_weights(scores, options), split_heads(v, options.heads)));
}

}  // namespace kb
